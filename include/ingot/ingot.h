/* ingot/ingot.h: the C interface of a compiled model.
 *
 * A compiled model is a shared library (or a static one) that exports one function,
 * ingot_model_v1(), which returns a table of functions. The table and every struct begin with
 * their own size; later versions only append, so a caller sets `struct_size = sizeof(it)` (the
 * INGOT_INIT macro does), clears the rest, and asks INGOT_API_HAS for functions that may be newer
 * than the library.
 *
 * Manners: every function that can fail returns an ingot_status; the text of the calling thread's
 * last failure is last_error(). The library never aborts, prints, throws, installs a signal handler
 * or reads the environment. Unless said otherwise, functions may be called from many threads at
 * once, and pointers handed in are only read during the call.
 */
#ifndef INGOT_INGOT_H_
#define INGOT_INGOT_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of this interface; a library with another major version has another entry point. */
#define INGOT_ABI_VERSION 1

/** An initialiser of any struct below that begins with struct_size: the rest is zero. */
#ifdef __cplusplus
#define INGOT_INIT(type)               \
  [] {                                 \
    type value_ = type();              \
    value_.struct_size = sizeof(type); \
    return value_;                     \
  }()
#else
#define INGOT_INIT(type) \
  { .struct_size = (uint32_t)sizeof(type) }
#endif

/** Whether the library behind `api` is new enough to have the function `member`. */
#define INGOT_API_HAS(api, member) \
  ((api)->struct_size >= offsetof(ingot_model_api, member) + sizeof((api)->member))

/** What a function returns: INGOT_OK, or the kind of failure. */
typedef enum ingot_status {
  INGOT_OK = 0,
  INGOT_INVALID_ARGUMENT = 1,   /**< the caller's mistake: a name, type, shape, range or pointer */
  INGOT_UNSUPPORTED = 2,        /**< this model or library cannot do it */
  INGOT_INVALID_MODEL = 3,      /**< malformed artefact or weights */
  INGOT_IO = 4,                 /**< a file could not be read or written */
  INGOT_TOOLCHAIN = 5,          /**< compilers only: a tool is missing or failed */
  INGOT_RESOURCE_EXHAUSTED = 6, /**< memory, threads, or all workspaces are in use */
  INGOT_WRONG_TARGET = 7,       /**< made for another machine or instruction set */
  INGOT_DEVICE = 8,             /**< the accelerator or its driver failed */
  INGOT_CANCELLED = 9,          /**< the caller's cancel flag was set */
  INGOT_INTERNAL = 10,          /**< a mistake of the library */
  INGOT_DEADLINE = 11           /**< the caller's deadline has passed */
} ingot_status;

/** Element types, numbered as TensorProto.DataType of ONNX. */
typedef enum ingot_dtype {
  INGOT_UNDEFINED = 0,
  INGOT_FLOAT32 = 1,
  INGOT_UINT8 = 2,
  INGOT_INT8 = 3,
  INGOT_UINT16 = 4,
  INGOT_INT16 = 5,
  INGOT_INT32 = 6,
  INGOT_INT64 = 7,
  INGOT_STRING = 8, /**< each element an ingot_string */
  INGOT_BOOL = 9,
  INGOT_FLOAT16 = 10,
  INGOT_FLOAT64 = 11,
  INGOT_UINT32 = 12,
  INGOT_UINT64 = 13,
  INGOT_COMPLEX64 = 14,
  INGOT_COMPLEX128 = 15,
  INGOT_BFLOAT16 = 16,
  INGOT_FLOAT8E4M3FN = 17,
  INGOT_FLOAT8E4M3FNUZ = 18,
  INGOT_FLOAT8E5M2 = 19,
  INGOT_FLOAT8E5M2FNUZ = 20,
  INGOT_UINT4 = 21, /**< two a byte, the lower half first; no strides */
  INGOT_INT4 = 22,
  INGOT_FLOAT4E2M1 = 23,
  INGOT_FLOAT8E8M0 = 24,
  INGOT_UINT2 = 25, /**< four a byte, the lowest bits first; no strides */
  INGOT_INT2 = 26
} ingot_dtype;

/** What an ingot_tensor stands for. */
typedef enum ingot_kind {
  INGOT_KIND_TENSOR = 0,
  INGOT_KIND_STATE = 1,    /**< `data` points to an ingot_state */
  INGOT_KIND_SEQUENCE = 2, /**< `data` points to an ingot_container */
  INGOT_KIND_OPTIONAL = 3, /**< likewise, of at most one item */
  INGOT_KIND_MAP = 4       /**< likewise, of two tensors [n]: the keys, and the value of each */
} ingot_kind;

/** Where memory lies, numbered as DLPack's DLDeviceType. */
typedef enum ingot_device_type {
  INGOT_DEVICE_DEFAULT = 0, /**< taken as INGOT_DEVICE_CPU */
  INGOT_DEVICE_CPU = 1,
  INGOT_DEVICE_CUDA = 2,
  INGOT_DEVICE_ROCM = 10
} ingot_device_type;

/** One element of a string tensor: UTF-8, not terminated. */
typedef struct ingot_string {
  const char* data;
  size_t length;
} ingot_string;

/** A view of a tensor; the caller owns the memory that it points to.
 *
 * As an input: `dims` (and `strides`, if any) are read. A tensor with no element may have null
 * data. As an output of run():
 *   - `data` null: the run allocates it (run options' allocator, or the model's memory: free it
 * with free_output()) and sets `data`, `strides` to null.
 *   - `data` given, `data_bytes` 0: `dims` say the shape and must be right.
 *   - `data` given, `data_bytes` its capacity: any shape that fits.
 *   After the run `rank` is right and, where `dims` was given (room for the described rank), the
 *   dims too. With strides the dims must be right from the start. */
typedef struct ingot_tensor {
  uint32_t struct_size;
  int32_t dtype; /**< ingot_dtype */
  int32_t kind;  /**< ingot_kind */
  int32_t rank;
  void* data;        /**< aligned to an element, better to 64 */
  size_t data_bytes; /**< 0, or how many bytes there are at `data` */
  int64_t* dims;     /**< [rank] */
  const int64_t*
      strides;         /**< [rank] in elements, each >= 0 (0 for inputs only), or null: row-major */
  int32_t device_type; /**< ingot_device_type */
  int32_t device_id;
} ingot_tensor;

/** A sequence; an optional, which has no item or one; or a map. Items are tensors of one dtype,
 * each with dims of its own and without strides; that of an optional may be a sequence, those of a
 * sequence may be maps. A map has two: its keys, INGOT_INT64 or INGOT_STRING, in any order, of
 * which the last of equal ones counts, and their values. A view: as an input, the caller owns it
 * and all that it points to; of outputs see ingot_model_api::run. */
typedef struct ingot_container {
  uint32_t struct_size;
  int64_t count;
  ingot_tensor* items; /**< [count], each `items[0].struct_size` bytes behind the one before */
} ingot_container;

typedef enum ingot_state_layout {
  INGOT_STATE_CONTIGUOUS = 0,
  INGOT_STATE_PAGED = 1
} ingot_state_layout;

/** A state, such as a KV cache: `batch` sequences of tokens, which runs read and extend in place.
 *
 * A successful run appends its tokens and adds their count to `lengths`; a failed one leaves
 * `lengths` alone (memory behind them may have been written). Several states may share one
 * `lengths` array: it advances once. No two runs may use one state at a time. */
typedef struct ingot_state {
  uint32_t struct_size;
  int32_t layout; /**< ingot_state_layout */
  int32_t dtype;
  int32_t token_rank;        /**< with token_dims: checked against the description; 0: not given */
  const int64_t* token_dims; /**< [token_rank], or null */
  int64_t batch;
  int64_t* lengths;   /**< [batch] tokens that are there; read and advanced */
  void* data;         /**< contiguous [batch, capacity, token]; paged [blocks, block_size, token] */
  int64_t capacity;   /**< contiguous: tokens that fit in a sequence */
  int64_t blocks;     /**< paged: blocks in the pool */
  int64_t block_size; /**< paged: tokens in a block; must be the described one */
  const int32_t* block_table; /**< paged [batch, max_blocks]: a sequence's blocks in order */
  int64_t max_blocks;         /**< paged */
} ingot_state;

/** Threads that run a model's work. The caller's thread counts as one of `size`. */
typedef struct ingot_thread_pool {
  uint32_t struct_size;
  int32_t size; /**< how many tasks can run at once, at least 1 */
  void* context;
  /** Calls task(task_context, i) once for each i in [0, count), on any threads, in any order, and
   * returns when all are done. `count` is at most `size`. Tasks never wait for each other. May be
   * called by several threads at once. */
  void (*parallel_for)(void* context, int64_t count,
                       void (*task)(void* task_context, int64_t index), void* task_context);
} ingot_thread_pool;

/** Where outputs that the caller did not provide memory for come from. */
typedef struct ingot_allocator {
  void* context;
  /** At least `bytes` bytes (never 0) aligned to `alignment`, or null. `output` is its number. */
  void* (*allocate)(void* context, uint32_t output, size_t bytes, size_t alignment);
} ingot_allocator;

typedef enum ingot_log_level { INGOT_LOG_INFO = 0, INGOT_LOG_WARNING = 1 } ingot_log_level;

/** Receives one line, without its newline. May be called from any thread that calls the model. */
typedef struct ingot_log {
  void* context;
  void (*write)(void* context, int32_t level, const char* message);
} ingot_log;

/** One step of a run, as the profile sink sees it. The pointers live as long as the model. */
typedef struct ingot_profile_event {
  uint32_t struct_size;
  uint32_t step;          /**< its number in the program */
  const char* name;       /**< of the kernel or routine */
  const char* provenance; /**< the model's nodes that it computes, comma separated */
  int64_t start_ns;       /**< CLOCK_MONOTONIC */
  int64_t end_ns;
  int64_t units;   /**< work units; 0 for a routine */
  int32_t threads; /**< that took part */
  double flops;    /**< of the whole step, 0: unknown */
  double bytes;    /**< read and written at least once, 0: unknown */
} ingot_profile_event;

typedef struct ingot_profile_sink {
  void* context;
  /** Called after each step by the thread that called run(). */
  void (*step)(void* context, const ingot_profile_event* event);
} ingot_profile_sink;

typedef enum ingot_weights_mode {
  INGOT_WEIGHTS_MAPPED = 0, /**< mapped, shared between processes, read on demand */
  INGOT_WEIGHTS_HUGE = 1    /**< read into private memory on huge pages where there are any */
} ingot_weights_mode;

/** How to open a model. Null instead of the struct, or zeros, mean the defaults. */
typedef struct ingot_open_options {
  uint32_t struct_size;
  int32_t weights_mode;      /**< ingot_weights_mode */
  const char* weights_path;  /**< the side weights' file; null: beside the artefact */
  const char* source_folder; /**< stripped weights: folder of the original files; null: likewise */
  int32_t verify_weights;    /**< not 0: compare the weights with their checksum */
  int32_t threads;           /**< of the model's own pool, the caller's included; 0: as many as
                                  the process may use (affinity and cgroup) */
  const ingot_thread_pool* pool; /**< used instead of an own pool; must outlive the model */
  int32_t max_concurrent_runs;   /**< workspaces; 0: 16 */
  int32_t describe_only;         /**< not 0: needs neither weights nor a fitting CPU, cannot run */
  const char* level;             /**< instruction set level to use; null: the best that fits */
  ingot_log log;
} ingot_open_options;

/** How to run. Null instead of the struct, or zeros, mean the defaults. */
typedef struct ingot_run_options {
  uint32_t struct_size;
  int32_t threads;               /**< at most so many, the caller's included; 0: the pool's size */
  const ingot_thread_pool* pool; /**< for this run only */
  void* workspace;               /**< memory for the inner values, of at least workspace_bytes() */
  size_t workspace_bytes;
  void* stream;               /**< GPU models: the stream; null on a CPU */
  int64_t deadline_ns;        /**< CLOCK_MONOTONIC time after which the run gives up; 0: none */
  int32_t non_blocking;       /**< not 0: INGOT_RESOURCE_EXHAUSTED if no workspace is free */
  const volatile int* cancel; /**< polled between and inside steps; not 0: INGOT_CANCELLED */
  ingot_allocator allocator;
  ingot_profile_sink profile;
} ingot_run_options;

/** A dimension as declared. Strings of descriptions live as long as the model. */
typedef struct ingot_dim_info {
  int64_t value;  /**< fixed: its value; otherwise -1 */
  int32_t symbol; /**< a plain symbol: its number; otherwise -1 */
  int32_t reserved;
  int64_t min, max; /**< both included; an expression's are 0 and INT64_MAX */
  int64_t divisor;  /**< the value is a multiple of it */
  const char* text; /**< "3", "batch", "batch * 2" */
} ingot_dim_info;

/** An input or output. */
typedef struct ingot_value_info {
  uint32_t struct_size;
  int32_t dtype;
  int32_t kind; /**< ingot_kind */
  int32_t rank;
  const char* name;
  const ingot_dim_info* dims; /**< [rank] */
  uint32_t alignment;         /**< bytes that `data` must be aligned to */
  int32_t data_dependent;     /**< outputs: not 0 if only the run finds out the shape */
  int32_t element_kind;       /**< containers: ingot_kind of their items. Of sequences and optionals
                                   `dtype` is that of the tensors in them, of maps that of the
                                   values, and `rank` is 0 */
  int32_t key_dtype;          /**< maps and sequences of maps: that of the keys; otherwise 0 */
} ingot_value_info;

/** A state input and the output that continues it. */
typedef struct ingot_state_info {
  uint32_t struct_size;
  int32_t dtype;
  int32_t layout; /**< ingot_state_layout */
  int32_t token_rank;
  const char* name;          /**< of the input */
  const char* output_name;   /**< of the model's output that became an update in place */
  const int64_t* token_dims; /**< [token_rank] */
  int64_t block_size;        /**< paged */
  ingot_dim_info batch;
  int64_t appended; /**< tokens that a run appends, or -1: the value of appended_symbol */
  int32_t appended_symbol;
} ingot_state_info;

/** A run-time dimension. */
typedef struct ingot_symbol_info {
  uint32_t struct_size;
  int32_t data_dependent; /**< not 0: set by the run, not by the inputs */
  const char* name;
  int64_t min, max; /**< both included */
  int64_t divisor;
} ingot_symbol_info;

/** A constant of the model (a weight). */
typedef struct ingot_constant_info {
  uint32_t struct_size;
  int32_t dtype;
  int32_t rank;
  int32_t replaceable;
  const char* name;
  const int64_t* dims; /**< [rank] */
  int32_t readable;    /**< not 0 if get_constant() can return it */
} ingot_constant_info;

/** A model at a glance. */
typedef struct ingot_description {
  uint32_t struct_size;
  uint32_t input_count;  /**< without the states */
  uint32_t output_count; /**< without the states */
  uint32_t state_count;
  uint32_t symbol_count;
  uint32_t constant_count;
  uint32_t metadata_count;
  uint32_t step_count;
  const char* name;
  const char* hash;   /**< hexadecimal, of the model file it was compiled from */
  const char* target; /**< "cpu" */
  const char* level;  /**< instruction set level in use; null if describe_only */
  const char* levels; /**< all levels in the file, best first, comma separated */
  const char* toolchain;
  const char* compiler_version;
  uint64_t weight_bytes;
  const char* weights; /**< "none", "embedded", "separate" or "stripped" */
} ingot_description;

/** An open model. */
typedef struct ingot_model ingot_model;

/** What a compiled model can do. */
typedef struct ingot_model_api {
  uint32_t struct_size;
  uint32_t abi_version; /**< INGOT_ABI_VERSION */

  /** Opens the model of this library. `options` may be null. Every handle is independent.
   * Errors: wrong_target, io, invalid_model (weights that do not belong to it), invalid_argument,
   * resource_exhausted. */
  ingot_status (*open)(const ingot_open_options* options, ingot_model** model);
  /** Ends the model's threads and frees everything of it. No run may be in flight. Null is fine. */
  void (*close)(ingot_model* model);
  /** What went wrong last in this thread, in this library; "" if nothing has. Valid until the next
   * failure in the same thread. */
  const char* (*last_error)(void);

  /** Descriptions live as long as the model; null if `index` is out of range. */
  const ingot_description* (*describe)(const ingot_model* model);
  const ingot_value_info* (*input)(const ingot_model* model, uint32_t index);
  const ingot_value_info* (*output)(const ingot_model* model, uint32_t index);
  const ingot_state_info* (*state)(const ingot_model* model, uint32_t index);
  const ingot_symbol_info* (*symbol)(const ingot_model* model, uint32_t index);
  const ingot_constant_info* (*constant)(const ingot_model* model, uint32_t index);
  /** Sets key and value; invalid_argument if `index` is out of range. */
  ingot_status (*metadata)(const ingot_model* model, uint32_t index, const char** key,
                           const char** value);

  /** Bytes of workspace that a run needs with these symbols (one value for each, in their order;
   * data-dependent ones are ignored) and threads (0: the pool's size). Values whose size only the
   * run finds out and copies of strided tensors are not in it; they come from the model's memory.
   */
  ingot_status (*workspace_bytes)(const ingot_model* model, const int64_t* symbols,
                                  uint32_t symbol_count, int32_t threads, uint64_t* bytes);

  /** Runs once. `inputs` are the inputs in their order, then the states (kind INGOT_KIND_STATE);
   * `outputs` are the outputs in their order and are updated as ingot_tensor says. `options` may be
   * null. Blocks until done. After a failure the contents of outputs are unspecified, and memory
   * that this run had allocated for them is freed (an allocator's excepted).
   * The data of an output with strings or containers is one block that holds everything that it
   * refers to, with the elements or the ingot_container first: freeing it frees all. Where the
   * caller gives the block, `data_bytes` must be its capacity; the error tells what is needed.
   * Errors: invalid_argument, resource_exhausted, cancelled, deadline, unsupported, internal. */
  ingot_status (*run)(ingot_model* model, const ingot_tensor* inputs, uint32_t input_count,
                      ingot_tensor* outputs, uint32_t output_count,
                      const ingot_run_options* options);
  /** Frees memory that a run without an allocator set as an output's data. Null is fine. */
  void (*free_output)(ingot_model* model, void* data);

  /** Replaces constants: prepares the weights again with the new values and, when all is done,
   * swaps them in at once. Runs that have begun finish with the old ones; later ones see all new
   * values. Tensors must be row-major and have the constant's dtype and dims. Errors:
   * invalid_argument (unknown or not replaceable name, dtype, dims), resource_exhausted. */
  ingot_status (*set_constants)(ingot_model* model, const char* const* names,
                                const ingot_tensor* values, uint32_t count);
  /** Copies a constant's present value into `value`: dims as in an output with data and data_bytes.
   * Errors: invalid_argument, unsupported (its original value was not kept). */
  ingot_status (*get_constant)(ingot_model* model, const char* name, ingot_tensor* value);
  /** Compares the weights with their checksum. Errors: invalid_model. */
  ingot_status (*verify_weights)(const ingot_model* model);
} ingot_model_api;

/** The only symbol of a compiled model; of a static libNAME.a it is ingot_model_v1_NAME(). */
const ingot_model_api* ingot_model_v1(void);

#ifdef __cplusplus
}
#endif

#endif /* INGOT_INGOT_H_ */
