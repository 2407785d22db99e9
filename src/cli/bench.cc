// cli/bench.cc: ingot bench.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "base/threads.h"
#include "cli/execute.h"
#include "cli/output.h"
#include "cli/probe.h"

namespace ingot::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Runs at a time: each has a thread of its own.
constexpr int kMostLanes = 1024;

struct Options {
  std::string model, trace;
  InputOptions inputs;
  int threads = 0, concurrency = 1, streams = 0;
  int64_t warmup = 3;
  double duration = 2;
  bool profile = false, json = false;
};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Runs with outputs bound once, so that only the model's own work is timed.
class Runner {
 public:
  Runner(const LoadedModel& model, std::span<const HostTensor> inputs)
      : model_(model), inputs_(inputs) {}

  /// Finds the outputs' shapes by a first run.
  Status prepare(std::span<const HostTensor> inputs) {
    ingot_run_options options = INGOT_INIT(ingot_run_options);
    TRY(outputs_, execute(model_, inputs, options, &first_run_ms_));
    const HostViews views(outputs_);
    views_.assign(views.get().begin(), views.get().end());
    for (ingot_tensor& view : views_) {
      if (is_packed(view)) view.data = nullptr;
    }
    return ok();
  }
  double first_run_ms() const { return first_run_ms_; }
  Status run(const ingot_run_options& options) {
    Status status = model_.run(inputs_.get(), views_, options);
    for (ingot_tensor& view : views_) {
      if (!is_packed(view)) continue;
      model_.api().free_output(model_.handle(), view.data);
      view.data = nullptr;
    }
    return status;
  }

 private:
  /// Whether its size depends on more than its dims, so that every run allocates it.
  static bool is_packed(const ingot_tensor& view) {
    return view.kind != INGOT_KIND_TENSOR || view.dtype == INGOT_STRING;
  }

  const LoadedModel& model_;
  HostViews inputs_;
  std::vector<HostTensor> outputs_;
  std::vector<ingot_tensor> views_;
  double first_run_ms_ = 0;
};

/// Time of each step, added up over the runs of one lane.
struct StepTimes {
  struct Row {
    std::string name, nodes;
    double ms = 0, flops = 0, bytes = 0;
    int64_t runs = 0;
  };
  std::map<uint32_t, Row> rows;
  Json events = Json::array();
  int lane = 0;
  int64_t origin_ns = 0;  // CLOCK_MONOTONIC

  static void take(void* context, const ingot_profile_event* e) {
    auto& self = *static_cast<StepTimes*>(context);
    Row& row = self.rows[e->step];
    row.name = e->name;
    row.nodes = e->provenance;
    row.ms += static_cast<double>(e->end_ns - e->start_ns) / 1e6;
    row.flops += e->flops;
    row.bytes += e->bytes;
    ++row.runs;
    constexpr size_t kMostEvents = 100000;
    if (self.events.size() < kMostEvents) {
      self.events.push_back({{"name", e->name},
                             {"ph", "X"},
                             {"pid", 1},
                             {"tid", self.lane + 1},
                             {"ts", static_cast<double>(e->start_ns - self.origin_ns) / 1e3},
                             {"dur", static_cast<double>(e->end_ns - e->start_ns) / 1e3},
                             {"args", {{"nodes", e->provenance}}}});
    }
  }
};

int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

/// All lanes' times together.
StepTimes merged(std::span<const StepTimes> lanes) {
  StepTimes all;
  for (const StepTimes& lane : lanes) {
    for (const auto& [number, row] : lane.rows) {
      StepTimes::Row& sum = all.rows[number];
      sum.name = row.name;
      sum.nodes = row.nodes;
      sum.ms += row.ms;
      sum.flops += row.flops;
      sum.bytes += row.bytes;
      sum.runs += row.runs;
    }
    all.events.insert(all.events.end(), lane.events.begin(), lane.events.end());
  }
  return all;
}

double percentile(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<size_t>(std::lround(at))];
}

Json latency_json(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  double sum = 0;
  for (const double t : times) sum += t;
  return {{"min", times.front()},
          {"median", percentile(times, 0.5)},
          {"p90", percentile(times, 0.9)},
          {"p99", percentile(times, 0.99)},
          {"mean", sum / static_cast<double>(times.size())}};
}

/// What was measured: the dims of each input, by name.
Json shapes_json(std::span<const HostTensor> inputs, std::span<const InputPort> ports) {
  Json json = Json::object();
  for (size_t k = 0; k < ports.size(); ++k) json[ports[k].name] = inputs[k].dims;
  return json;
}

Json profile_json(const StepTimes& steps, const Probe& probe) {
  Json rows = Json::array();
  for (const auto& [number, row] : steps.rows) {
    const auto runs = static_cast<double>(row.runs);
    Json entry = {
        {"step", number}, {"name", row.name}, {"nodes", row.nodes}, {"ms", row.ms / runs}};
    // What is not known is left out.
    const double gflops = row.flops / row.ms / 1e6, gbs = row.bytes / row.ms / 1e6;
    if (row.flops > 0) entry["gflops"] = gflops;
    if (row.bytes > 0) entry["gbs"] = gbs;
    if (row.flops > 0 || row.bytes > 0) {
      // The roof is the nearer one of arithmetic and of memory.
      entry["roofline_percent"] = 100 * std::max(gflops / probe.fma_gflops, gbs / probe.read_gbs);
    }
    rows.push_back(std::move(entry));
  }
  return rows;
}

/// A number of a profile's row with its unit, or as much space.
std::string column(const Json& row, const char* key, std::string_view unit) {
  if (!row.contains(key)) return std::string(8 + unit.size(), ' ');
  return fmt::format("{:7.1f} {}", row[key].get<double>(), unit);
}

Status check(const Options& options) {
  if (options.concurrency < 1 || options.concurrency > kMostLanes) {
    return invalid_argument("--concurrency: expected 1..", kMostLanes, ", got ",
                            options.concurrency);
  }
  if (options.streams < 0 || options.streams > kMostLanes) {
    return invalid_argument("--streams: expected 0..", kMostLanes, ", got ", options.streams);
  }
  if (options.threads < 0) {
    return invalid_argument("--threads: expected 0 or more, got ", options.threads);
  }
  if (options.warmup < 0) {
    return invalid_argument("--warmup: expected 0 or more, got ", options.warmup);
  }
  if (!(options.duration > 0)) {
    return invalid_argument("--duration: expected more than 0 seconds, got ", options.duration);
  }
  return ok();
}

Result<int> run(const Options& options) {
  TRY_STATUS(check(options));
  if (!options.trace.empty()) TRY_STATUS(check_json_output(options.trace));
  CompileArguments compile;
  compile.dims.shapes = options.inputs.dims.shapes;
  TRY(const std::filesystem::path library, compiled(options.model, compile));
  const int threads = options.threads > 0 ? options.threads : available_cpus();
  const int lanes = options.streams > 0 ? options.streams : options.concurrency;
  ingot_open_options open = INGOT_INIT(ingot_open_options);
  open.threads = threads;
  open.max_concurrent_runs = std::max(lanes, 16);

  const auto before_load = Clock::now();
  TRY(const LoadedModel model, LoadedModel::open(library.string(), open));
  const double load_ms = ms_since(before_load);
  const std::vector<InputPort> ports = input_ports(model);
  TRY(const std::vector<HostTensor> inputs, gather_inputs(ports, options.inputs));

  std::vector<Runner> runners;
  for (int k = 0; k < lanes; ++k) runners.emplace_back(model, inputs);
  for (Runner& runner : runners) TRY_STATUS(runner.prepare(inputs));
  const double first_run_ms = runners[0].first_run_ms();
  const Probe probe = probe_machine(threads);

  ingot_run_options shared_options = INGOT_INIT(ingot_run_options);
  shared_options.threads = threads;
  shared_options.cancel = interrupted_flag();
  const bool profiled = options.profile || !options.trace.empty();
  std::vector<StepTimes> steps(runners.size());
  const int64_t origin_ns = monotonic_ns();

  std::mutex mutex;  // guards times and failure
  std::vector<double> times;
  std::optional<Error> failure;
  double wall_s = 0;
  const auto lane = [&](size_t number) {
    Runner& runner = runners[number];
    ingot_run_options run_options = shared_options;
    steps[number].lane = static_cast<int>(number);
    steps[number].origin_ns = origin_ns;
    std::vector<double> own;
    for (int64_t k = 0; k < options.warmup; ++k) {
      if (auto done = runner.run(run_options); !done) {
        const std::lock_guard lock(mutex);
        failure = done.error();
        return;
      }
    }
    if (profiled) run_options.profile = {&steps[number], StepTimes::take};
    const auto start = Clock::now();
    double elapsed = 0;
    do {
      const auto before = Clock::now();
      auto done = runner.run(run_options);
      own.push_back(ms_since(before));
      elapsed = ms_since(start) / 1e3;
      if (!done) {
        const std::lock_guard lock(mutex);
        failure = done.error();
        return;
      }
    } while (elapsed < options.duration);
    const std::lock_guard lock(mutex);
    times.insert(times.end(), own.begin(), own.end());
    wall_s = std::max(wall_s, elapsed);
  };
  std::vector<std::thread> others;
  for (size_t k = 1; k < runners.size(); ++k) others.emplace_back(lane, k);
  lane(0);
  for (std::thread& other : others) other.join();
  if (failure) return *failure;

  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const StepTimes all_steps = merged(steps);
  if (!options.trace.empty()) {
    const Json trace = {{"traceEvents", all_steps.events}};
    TRY_STATUS(write_json(options.trace, trace, -1));
  }
  Json json = {{"latency", latency_json(times)},
               {"runs", times.size()},
               {"inputs", shapes_json(inputs, ports)},
               {"threads", threads},
               {"concurrency", lanes},
               {"throughput_per_s", static_cast<double>(times.size()) / wall_s},
               {"load_ms", load_ms},
               {"first_run_ms", first_run_ms},
               {"peak_rss_bytes", static_cast<int64_t>(usage.ru_maxrss) * 1024},
               {"probe", {{"fma_gflops", probe.fma_gflops}, {"read_gbs", probe.read_gbs}}}};
  if (options.profile) json["profile"] = profile_json(all_steps, probe);
  if (options.json) {
    print(json);
    return 0;
  }
  const Json& l = json["latency"];
  for (const auto& [name, dims] : json["inputs"].items()) {
    print(concat("input ", name, ": ", dims.dump(), "\n"));
  }
  print(
      fmt::format("latency ms: min {:.4f}, median {:.4f}, p90 {:.4f}, p99 {:.4f} over {} runs\n"
                  "throughput {:.1f} per s, {} threads, {} at a time; opened in {:.2f} ms, first "
                  "run {:.3f} ms\nprobe: {:.0f} GFLOP/s, {:.1f} GB/s\n",
                  l["min"].get<double>(), l["median"].get<double>(), l["p90"].get<double>(),
                  l["p99"].get<double>(), times.size(), json["throughput_per_s"].get<double>(),
                  threads, lanes, load_ms, first_run_ms, probe.fma_gflops, probe.read_gbs));
  if (options.profile) {
    for (const Json& row : json["profile"]) {
      print(fmt::format("{:8.4f} ms {} {} {}  {:<20} {}\n", row["ms"].get<double>(),
                        column(row, "gflops", "GFLOP/s"), column(row, "gbs", "GB/s"),
                        column(row, "roofline_percent", "%"), row["name"].get<std::string>(),
                        row["nodes"].get<std::string>()));
    }
  }
  return 0;
}

}  // namespace

Run setup_bench(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "a compiled model, or an .onnx file")->required();
  options->inputs.add_to(app);
  app.add_option("--threads", options->threads, "of one run; 0: one per processor")
      ->capture_default_str();
  app.add_option("--concurrency", options->concurrency, "runs at a time")->capture_default_str();
  app.add_option("--streams", options->streams, "runs side by side that share the weights");
  app.add_option("--warmup", options->warmup, "runs before timing")->capture_default_str();
  app.add_option("--duration", options->duration, "seconds to time")->capture_default_str();
  app.add_flag("--profile", options->profile, "time per kernel");
  app.add_option("--trace", options->trace, "a Chrome trace, JSON");
  app.add_flag("--json", options->json, "print the result as JSON");
  return [options] { return run(*options); };
}

}  // namespace ingot::cli
