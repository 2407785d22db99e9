// base/error_test.cc: errors, results and checks.
#include "base/error.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "ingot/ingot.h"

namespace ingot {
namespace {

TEST(Error, CodesKeepTheCommandLinesExitStatuses) {
  EXPECT_EQ(exit_status(Code::kInvalidArgument), 2);
  EXPECT_EQ(exit_status(Code::kUnsupported), 3);
  EXPECT_EQ(exit_status(Code::kInvalidModel), 4);
  EXPECT_EQ(exit_status(Code::kIo), 4);
  EXPECT_EQ(exit_status(Code::kToolchain), 5);
  EXPECT_EQ(exit_status(Code::kResourceExhausted), 6);
  EXPECT_EQ(exit_status(Code::kWrongTarget), 7);
  EXPECT_EQ(exit_status(Code::kInternal), 70);
  EXPECT_EQ(exit_status(Code::kCancelled), 130);
}

TEST(Error, AbiStatusRoundTrips) {
  for (int status = 1; status <= 11; ++status) {
    EXPECT_EQ(abi_status(code_from_abi_status(status)), status);
  }
  EXPECT_EQ(code_from_abi_status(999), Code::kInternal);
}

TEST(Error, AbiStatusesAreThoseOfTheHeader) {
  EXPECT_EQ(abi_status(Code::kInvalidArgument), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(abi_status(Code::kUnsupported), INGOT_UNSUPPORTED);
  EXPECT_EQ(abi_status(Code::kInvalidModel), INGOT_INVALID_MODEL);
  EXPECT_EQ(abi_status(Code::kIo), INGOT_IO);
  EXPECT_EQ(abi_status(Code::kToolchain), INGOT_TOOLCHAIN);
  EXPECT_EQ(abi_status(Code::kResourceExhausted), INGOT_RESOURCE_EXHAUSTED);
  EXPECT_EQ(abi_status(Code::kWrongTarget), INGOT_WRONG_TARGET);
  EXPECT_EQ(abi_status(Code::kDevice), INGOT_DEVICE);
  EXPECT_EQ(abi_status(Code::kCancelled), INGOT_CANCELLED);
  EXPECT_EQ(abi_status(Code::kInternal), INGOT_INTERNAL);
  EXPECT_EQ(abi_status(Code::kDeadline), INGOT_DEADLINE);
}

TEST(Error, PartsAndNotesBecomeOneText) {
  Error error = unsupported("got ", 3, ' ', 0.5, ' ', std::vector<int64_t>{1, 2}, ' ', Code::kIo);
  EXPECT_EQ(to_text(error), "got 3 0.5 [1, 2] io");
  error = add_note(add_note(error, "node ", 7), "m.onnx");
  EXPECT_EQ(to_text(error), "m.onnx: node 7: got 3 0.5 [1, 2] io");
}

Result<int> half(int value) {
  if (value % 2 != 0) return invalid_argument("half: expected an even number, got ", value);
  return value / 2;
}

Result<std::string> quarter(int value) {
  TRY(const int once, half(value));
  TRY(const int twice, add_note(half(once), "second"));
  return std::to_string(twice);
}

Status check_quarter(int value) {
  TRY_STATUS(quarter(value));
  return ok();
}

TEST(Result, TryHandsOnValuesAndErrors) {
  EXPECT_EQ(*quarter(12), "3");
  EXPECT_EQ(to_text(quarter(3).error()), "half: expected an even number, got 3");
  EXPECT_EQ(to_text(quarter(6).error()), "second: half: expected an even number, got 3");
  EXPECT_TRUE(check_quarter(4));
  EXPECT_EQ(check_quarter(5).error().code, Code::kInvalidArgument);
}

TEST(Result, HoldsWhatConvertsAndWhatOnlyMoves) {
  const Result<std::string> text = "literal";
  EXPECT_EQ(text->size(), 7u);
  Result<std::unique_ptr<int>> pointer = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = *std::move(pointer);
  EXPECT_EQ(*taken, 5);
}

void throw_failure(const CheckFailure& failure) {
  throw std::runtime_error(failure.message + "|" + failure.dump);
}

std::string failure_of(void (*function)()) {
  const CheckHandler before = set_check_handler(&throw_failure);
  std::string message;
  try {
    function();
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  set_check_handler(before);
  return message;
}

TEST(Check, TellsPlaceConditionDetailsAndDump) {
  const std::string message = failure_of([] {
    const ScopedCheckDump outer([] { return std::string("outer"); });
    const ScopedCheckDump inner([] { return std::string("inner"); });
    CHECK(1 > 2, "numbers ", 1, " and ", 2);
  });
  EXPECT_NE(message.find("base/error_test.cc:"), std::string::npos);
  EXPECT_NE(message.find(": CHECK(1 > 2) does not hold: numbers 1 and 2|inner"), std::string::npos);
}

TEST(Check, AFailureInsideADumpDoesNotAskForItAgain) {
  const std::string message = failure_of([] {
    const ScopedCheckDump dump([]() -> std::string {
      CHECK(false, "dump");
      return "";
    });
    CHECK(false, "first");
  });
  EXPECT_NE(message.find("dump|"), std::string::npos);
  EXPECT_NE(failure_of([] { CHECK(false, "later"); }).find("later|"), std::string::npos);
}

TEST(Check, HoldsQuietly) {
  EXPECT_EQ(failure_of([] {
              CHECK(true);
              DCHECK(true, "details");
            }),
            "");
}

TEST(CheckDeath, AbortsByDefault) {
  EXPECT_DEATH(CHECK(false, "why"), "does not hold: why");
}

}  // namespace
}  // namespace ingot
