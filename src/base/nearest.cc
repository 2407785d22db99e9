// base/nearest.cc: names by the number of bytes to insert, remove or change.
#include "base/nearest.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <tuple>

namespace ingot {
namespace {

constexpr size_t kMostShown = 3;
/// Bytes of a name that are looked at: models may have names of any length.
constexpr size_t kMostBytes = 200;

/// Levenshtein's distance.
size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t above = row[j + 1];
      row[j + 1] = a[i] == b[j] ? diagonal : 1 + std::min({diagonal, above, row[j]});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string_view> nearest(std::string_view name,
                                      std::span<const std::string_view> known) {
  const std::string_view wanted = name.substr(0, kMostBytes);
  const size_t most = std::max<size_t>(2, wanted.size() / 2);
  std::vector<std::tuple<size_t, std::string_view>> found;
  for (const std::string_view each : known) {
    const std::string_view text = each.substr(0, kMostBytes);
    if (wanted.size() > 1 && each.find(wanted) != std::string_view::npos) {
      found.emplace_back(1, each);
      continue;
    }
    if (text.empty() ||
        std::max(text.size(), wanted.size()) - std::min(text.size(), wanted.size()) > most) {
      continue;
    }
    const size_t edits = edits_between(wanted, text);
    if (edits <= most && edits < std::max(text.size(), wanted.size())) {
      found.emplace_back(edits, each);
    }
  }
  std::ranges::sort(found);
  std::vector<std::string_view> names;
  for (const auto& [edits, text] : found) {
    if (names.size() < kMostShown) names.push_back(text);
  }
  return names;
}

}  // namespace ingot
