// artifact/control.cc: runs the bodies of branches and loops.
#include "artifact/control.h"

#include "artifact/bind.h"
#include "artifact/error.h"

namespace ingot::artifact {
namespace {

using ll = long long;

constexpr u32 kLoopHead = 2;  // the turn and the condition
constexpr u32 kUnknownDim = ~0u;

u32 body_count(const Control& control) {
  return control.kind == ControlKind::branch ? 2 : 1;
}

i64 bytes_of(const ingot_tensor& tensor) {
  return dense_bytes(tensor.dtype, static_cast<u32>(tensor.rank), tensor.dims);
}

void copy(void* to, const void* from, i64 bytes) {
  if (bytes > 0) memcpy(to, from, static_cast<size_t>(bytes));
}

ingot_tensor* take_tensors(u8*& next, u32 count) {
  ingot_tensor* tensors = reinterpret_cast<ingot_tensor*>(next);
  next += count * sizeof(ingot_tensor);
  for (u32 k = 0; k < count; ++k) {
    tensors[k].struct_size = sizeof(ingot_tensor);
    tensors[k].kind = INGOT_KIND_TENSOR;
    tensors[k].dims = reinterpret_cast<int64_t*>(next);
    next += kMaxRank * sizeof(i64);
  }
  return tensors;
}

// The tables of a step, made once.
ingot_status provide_memory(const Control& control, ControlMemory* memory) {
  if (memory->memory != nullptr) return INGOT_OK;
  const u32 inputs = control.bodies[0]->input_count, outputs = control.bodies[0]->output_count;
  const i64 bytes =
      (inputs + outputs) * static_cast<i64>(sizeof(ingot_tensor) + kMaxRank * sizeof(i64)) +
      outputs * static_cast<i64>(3 * sizeof(Buffer) + sizeof(i64)) +
      control.input_count * static_cast<i64>(kMaxRank * sizeof(i64));
  u8* next = allocate_array<u8>(bytes);
  if (next == nullptr) return fail(INGOT_RESOURCE_EXHAUSTED, "run: no memory for a control step");
  memory->memory = next;
  memory->output_count = outputs;
  memory->dims = reinterpret_cast<i64*>(next);
  next += sizeof(i64) * control.input_count * kMaxRank;
  memory->inputs = take_tensors(next, inputs);
  memory->outputs = take_tensors(next, outputs);
  memory->given = reinterpret_cast<Buffer*>(next);
  next += sizeof(Buffer) * 2 * outputs;
  memory->stacks = reinterpret_cast<Buffer*>(next);
  next += outputs * sizeof(Buffer);
  memory->stacked_bytes = reinterpret_cast<i64*>(next);
  return INGOT_OK;
}

// Where a body's outputs go whose memory the step does not have yet.
struct Given {
  ControlMemory* memory;
  u32 parity;
};

void* allocate_given(void* context, u32 output, size_t bytes, size_t) {
  const Given& given = *static_cast<Given*>(context);
  Buffer& buffer = given.memory->given[2 * output + given.parity];
  return buffer.reserve(static_cast<i64>(bytes)) ? buffer.data : nullptr;
}

ingot_status run_body(Run& run, ProgramRuntime* body, ControlMemory& memory, Given& given) {
  ingot_run_options options = *run.options;
  options.workspace = nullptr;
  options.workspace_bytes = 0;
  options.profile = {};
  options.allocator = {&given, allocate_given};
  Run inner = {};
  inner.runtime = body;
  inner.weights = run.weights;
  inner.inputs = {reinterpret_cast<u8*>(memory.inputs), body->program->input_count,
                  sizeof(ingot_tensor)};
  inner.outputs = {reinterpret_cast<u8*>(memory.outputs), body->program->output_count,
                   sizeof(ingot_tensor)};
  inner.options = &options;
  inner.pool = run.pool;
  inner.threads = run.threads;
  inner.interrupt = run.interrupt;
  inner.heap = run.heap;
  inner.outer_symbols = run.workspace->symbols;
  return execute(inner);
}

// An input of the body is operand `operand` of the step.
void set_input(const Run& run, const i64* dims, u32 operand, const Port& port,
               ingot_tensor* tensor) {
  tensor->dtype = port.dtype;
  tensor->rank = static_cast<i32>(port.rank);
  tensor->data = run.workspace->operands[operand];
  copy(tensor->dims, dims + i64{operand} * kMaxRank, port.rank * static_cast<i64>(sizeof(i64)));
}

// An output of the body, into the step's own memory or where allocate_given() says.
void set_output(const Port& port, void* data, ingot_tensor* tensor) {
  tensor->dtype = port.dtype;
  tensor->rank = static_cast<i32>(port.rank);
  tensor->data = data;
  tensor->data_bytes = data == nullptr ? 0 : static_cast<size_t>(PTRDIFF_MAX);
}

void define_symbols(const Run& run, const Control& control, const ControlMemory& memory,
                    u32 first_output, i64 turns) {
  const Step& step = run.program().steps[run.step];
  for (u32 k = 0; k < step.symbol_count; ++k) {
    const FoundDim& found = control.found[k];
    const u32 symbol = step.first_symbol + k;
    i64 value = run.program().symbols[symbol].lo;
    if (found.output != kUnknownDim) {
      // In front of what a turn gives, the stacked outputs have a dim for the turns.
      const bool stacked = control.kind == ControlKind::loop && found.output >= control.carried;
      const ingot_tensor& given = memory.outputs[first_output + found.output];
      value = !stacked          ? given.dims[found.axis]
              : found.axis == 0 ? turns
                                : given.dims[found.axis - 1];
    }
    run.workspace->symbols[symbol] = value;
  }
}

ingot_status run_branch(Run& run, const Control& control, ControlMemory& memory) {
  const bool chosen = *static_cast<const u8*>(run.workspace->operands[0]) != 0;
  ProgramRuntime* body = run.runtime->controls[run.step].bodies[chosen ? 0 : 1];
  const Program& program = *body->program;
  const bool knows_sizes = run.program().steps[run.step].symbol_count == 0;
  for (u32 k = 0; k < program.input_count; ++k) {
    set_input(run, memory.dims, 1 + k, program.inputs[k], &memory.inputs[k]);
  }
  for (u32 k = 0; k < program.output_count; ++k) {
    void* data = knows_sizes ? run.workspace->operands[control.input_count + k] : nullptr;
    set_output(program.outputs[k], data, &memory.outputs[k]);
  }
  Given given = {&memory, 0};
  const ingot_status status = run_body(run, body, memory, given);
  if (status == INGOT_OK) define_symbols(run, control, memory, 0, 0);
  return status;
}

class LoopRun {
 public:
  LoopRun(Run& run, const Control& control, ControlMemory& memory)
      : run_(run),
        control_(control),
        memory_(memory),
        body_(run.runtime->controls[run.step].bodies[0]),
        program_(*body_->program),
        knows_sizes_(run.program().steps[run.step].symbol_count == 0),
        heap_begin_(run.heap->mark()) {
    for (u32 k = kLoopHead; k < program_.input_count; ++k) {
      set_input(run, memory.dims, k, program_.inputs[k], &memory.inputs[k]);
    }
    set_scalar(0, &turn_);
    set_scalar(1, &condition_);
  }

  ingot_status run() {
    const i64 trips = *static_cast<const i64*>(run_.workspace->operands[0]);
    condition_ = *static_cast<const u8*>(run_.workspace->operands[1]);
    for (u32 k = 0; k < memory_.output_count; ++k) memory_.stacked_bytes[k] = 0;
    for (; turn_ < trips && condition_ != 0; ++turn_) {
      const ingot_status status = run_turn();
      if (status != INGOT_OK) return status;
    }
    if (turn_ == 0) clear_stacked_dims();
    // The carried values are the inputs that the next turn would have had.
    for (u32 k = 0; k < control_.carried; ++k) {
      const ingot_tensor& last = memory_.inputs[kLoopHead + k];
      memory_.outputs[1 + k].data = last.data;
      copy(memory_.outputs[1 + k].dims, last.dims, last.rank * static_cast<i64>(sizeof(i64)));
      memory_.outputs[1 + k].rank = last.rank;
      memory_.outputs[1 + k].dtype = last.dtype;
      if (knows_sizes_) copy(output_data(k), last.data, bytes_of(last));
    }
    define_symbols(run_, control_, memory_, 1, turn_);
    return INGOT_OK;
  }

 private:
  u32 stacked_count() const { return program_.output_count - 1 - control_.carried; }
  void* output_data(u32 output) const {
    return run_.workspace->operands[control_.input_count + output];
  }

  void set_scalar(u32 input, void* data) {
    memory_.inputs[input].dtype = program_.inputs[input].dtype;
    memory_.inputs[input].rank = 0;
    memory_.inputs[input].data = data;
  }

  ingot_status run_turn() {
    if (run_.interrupt.is_set()) {
      const ingot_status status = run_.interrupt.check();
      if (status != INGOT_OK)
        return fail(status, "run: stopped in turn %lld", static_cast<ll>(turn_));
    }
    for (u32 k = 0; k < program_.output_count; ++k) {
      set_output(program_.outputs[k], nullptr, &memory_.outputs[k]);
    }
    Given given = {&memory_, static_cast<u32>(turn_ & 1)};
    ingot_status status = run_body(run_, body_, memory_, given);
    for (u32 k = 0; k < stacked_count() && status == INGOT_OK; ++k) status = stack(k);
    if (status != INGOT_OK) return status;
    condition_ = *static_cast<const u8*>(memory_.outputs[0].data);
    for (u32 k = 0; k < control_.carried; ++k) {
      const ingot_tensor& next = memory_.outputs[1 + k];
      ingot_tensor& input = memory_.inputs[kLoopHead + k];
      input.data = next.data;
      copy(input.dims, next.dims, next.rank * static_cast<i64>(sizeof(i64)));
    }
    collect();
    return INGOT_OK;
  }

  // Frees strings and containers of the turns so far that the next turn does not get, whenever
  // there is twice as much as was left the last time: so all collections together cost about as
  // much as making what they look at.
  void collect() {
    constexpr i64 kWorthIt = 1 << 20;
    if (run_.heap->bytes() < heap_limit_) return;
    const bool done = run_.heap->collect(heap_begin_, [&] {
      for_each_handle(Handles::containers, [&](const void* handles, i64 count) {
        for (i64 k = 0; k < count; ++k) {
          run_.heap->keep_container(static_cast<const ingot_container* const*>(handles)[k]);
        }
      });
      for_each_handle(Handles::strings, [&](const void* handles, i64 count) {
        run_.heap->keep_strings(static_cast<const ingot_string* const*>(handles), count);
      });
    });
    if (done) heap_limit_ = max(kWorthIt, multiply_size(2, run_.heap->bytes()));
  }

  // What is alive between two turns: carried values, and what was stacked.
  template <class Fn>
  void for_each_handle(Handles kind, const Fn& fn) {
    constexpr i64 kHandle = sizeof(void*);
    for (u32 k = 0; k < program_.output_count - 1; ++k) {
      const u32 output = 1 + k;
      if (program_.outputs[output].handles != kind) continue;
      if (k < control_.carried) {
        const ingot_tensor& next = memory_.inputs[kLoopHead + k];
        fn(next.data, bytes_of(next) / kHandle);
      } else if (knows_sizes_) {
        fn(output_data(k), (turn_ + 1) * bytes_of(memory_.outputs[output]) / kHandle);
      } else {
        fn(memory_.stacks[output].data, memory_.stacked_bytes[output] / kHandle);
      }
    }
  }

  // Appends what a turn gave to what the turns before it gave.
  ingot_status stack(u32 number) {
    const u32 output = 1 + control_.carried + number;
    const ingot_tensor& tensor = memory_.outputs[output];
    const i64 bytes = bytes_of(tensor);
    if (knows_sizes_) {
      copy(at_offset(output_data(control_.carried + number), turn_ * bytes), tensor.data, bytes);
      return INGOT_OK;
    }
    if (turn_ > 0 && memory_.stacked_bytes[output] != turn_ * bytes) {
      return fail(INGOT_INVALID_ARGUMENT,
                  "run: '%s' in turn %lld has other dims than in the turns before it",
                  program_.outputs[output].name, static_cast<ll>(turn_));
    }
    const i64 wanted = add_size(memory_.stacked_bytes[output], bytes);
    if (!grow(&memory_.stacks[output], memory_.stacked_bytes[output], wanted)) {
      return fail(INGOT_RESOURCE_EXHAUSTED, "run: no memory for %lld bytes of '%s'",
                  static_cast<ll>(wanted), program_.outputs[output].name);
    }
    copy(at_offset(memory_.stacks[output].data, memory_.stacked_bytes[output]), tensor.data, bytes);
    memory_.stacked_bytes[output] = wanted;
    return INGOT_OK;
  }

  static bool grow(Buffer* buffer, i64 used, i64 wanted) {
    if (wanted <= buffer->capacity) return true;
    Buffer larger;
    if (!larger.reserve(max(wanted, multiply_size(2, buffer->capacity)))) return false;
    copy(larger.data, buffer->data, used);
    buffer->clear();
    *buffer = larger;
    return true;
  }

  // Without a turn nothing tells the dims that only a turn finds out: they are 0.
  void clear_stacked_dims() {
    for (u32 k = 0; k < stacked_count(); ++k) {
      memset(memory_.outputs[1 + control_.carried + k].dims, 0, kMaxRank * sizeof(i64));
    }
  }

  Run& run_;
  const Control& control_;
  ControlMemory& memory_;
  ProgramRuntime* body_;
  const Program& program_;
  const bool knows_sizes_;
  RunHeap::Block* const heap_begin_;
  i64 heap_limit_ = 1 << 20;
  i64 turn_ = 0;
  u8 condition_ = 0;
};

}  // namespace

bool has_control(const Program& program) {
  for (u32 s = 0; s < program.step_count; ++s) {
    if (program.steps[s].control != nullptr) return true;
  }
  return false;
}

ingot_status make_control_runtimes(ProgramRuntime* runtime, i32 max_runs) {
  const Program& program = *runtime->program;
  if (!has_control(program)) return INGOT_OK;
  runtime->controls = allocate_array<ControlRuntime>(program.step_count);
  if (runtime->controls == nullptr) {
    return fail(INGOT_RESOURCE_EXHAUSTED, "open: no memory for the program's tables");
  }
  for (u32 s = 0; s < program.step_count; ++s) {
    const Control* control = program.steps[s].control;
    for (u32 b = 0; control != nullptr && b < body_count(*control); ++b) {
      const ingot_status status = make_program_runtime(*control->bodies[b], runtime->kernels,
                                                       max_runs, &runtime->controls[s].bodies[b]);
      if (status != INGOT_OK) return status;
    }
  }
  return INGOT_OK;
}

void free_control_runtimes(ProgramRuntime* runtime) {
  if (runtime->controls == nullptr) return;
  for (u32 s = 0; s < runtime->program->step_count; ++s) {
    for (ProgramRuntime* body : runtime->controls[s].bodies) free_program_runtime(body);
  }
  release(runtime->controls);
  runtime->controls = nullptr;
}

void free_control_memory(ControlMemory* memory) {
  for (i64 k = 0; k < memory->output_count; ++k) {
    memory->given[2 * k].clear();
    memory->given[2 * k + 1].clear();
    memory->stacks[k].clear();
  }
  release(memory->memory);
  *memory = {};
}

ingot_status run_control(Run& run, const Control& control) {
  ControlMemory& memory = run.workspace->controls[run.step];
  const ingot_status status = provide_memory(control, &memory);
  if (status != INGOT_OK) return status;
  control.input_dims(run.workspace->symbols, memory.dims);
  return control.kind == ControlKind::branch ? run_branch(run, control, memory)
                                             : LoopRun(run, control, memory).run();
}

void copy_control_outputs(Run& run, const Control& control) {
  const ControlMemory& memory = run.workspace->controls[run.step];
  const bool loop = control.kind == ControlKind::loop;
  const u32 first = loop ? 1 : 0;
  for (u32 k = first; k < memory.output_count; ++k) {
    void* to = run.workspace->operands[control.input_count + k - first];
    if (loop && k > control.carried) {
      copy(to, memory.stacks[k].data, memory.stacked_bytes[k]);
    } else {
      copy(to, memory.outputs[k].data, bytes_of(memory.outputs[k]));
    }
  }
}

}  // namespace ingot::artifact
