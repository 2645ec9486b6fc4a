// The arithmetic, written once over vectors of WIDTH floats. The including file selects the instructions and defines
// WIDTH, ACCUMULATORS (how many vectors of sums fit into the registers along with their operands), vector_min,
// vector_max and reciprocal. Nothing here may call inline functions of the standard library: the linker keeps one copy
// of such a function for the whole program, and that copy might use instructions that this machine doesn't have.

typedef float Vec __attribute__((vector_size(4 * WIDTH)));
typedef int32_t IntVec __attribute__((vector_size(4 * WIDTH)));
typedef float LooseVec __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));

// Compilers tend to reload an operand for each use, and then the multipliers wait for the loads.
#if defined(__x86_64__) && !defined(LET_COMPILER_CHOOSE_REGISTERS)
#define STAY_IN_REGISTER(vec) __asm__("" : "+v"(vec))
#else
#define STAY_IN_REGISTER(vec)
#endif

#define INLINE static inline __attribute__((always_inline))

constexpr int PANEL = 4 * WIDTH;
constexpr int ROWS = ACCUMULATORS / 4;  // rows whose four gates are summed at once

// As many doubles as a vector has floats: two registers.
typedef double DoubleVec __attribute__((vector_size(8 * WIDTH)));
typedef double LooseDoubleVec __attribute__((vector_size(8 * WIDTH), aligned(8), may_alias));

INLINE Vec load(const float* from) { return *reinterpret_cast<const LooseVec*>(from); }
INLINE void store(float* to, Vec value) { *reinterpret_cast<LooseVec*>(to) = value; }
INLINE Vec all(float value) { return value - Vec{}; }

// sums[r][v] += a[r, k] * b[k, v] over k. For each (r, v) the order of the additions depends only on k, not on how many
// rows are processed at once: the result for an edge has the same bits whatever else is in the batch.
template <int R, int V>
INLINE void multiply_add(Vec (&sums)[R][V], const float* a, int64_t a_row, int64_t a_k, const float* b, int64_t b_k,
                         int64_t num_k) {
#pragma GCC unroll 4
  for (int64_t k = 0; k < num_k; ++k) {
    if constexpr (V < R) {
      Vec right[V];
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) {
        right[v] = load(b + v * WIDTH);
        STAY_IN_REGISTER(right[v]);
      }
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        Vec left = all(a[r * a_row]);
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v) sums[r][v] += left * right[v];
      }
    } else {
      Vec left[R];
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) left[r] = all(a[r * a_row]);
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) {
        Vec right = load(b + v * WIDTH);
        STAY_IN_REGISTER(right);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) sums[r][v] += left[r] * right;
      }
    }
    a += a_k;
    b += b_k;
  }
}

// 2^y as 2^n * 2^f, n an integer and |f| <= 1/2. Relative error below 3e-7 for |y| <= 120; y is clamped to +-bound.
INLINE Vec power_of_two(Vec y, float bound) {
  y = vector_max(all(-bound), vector_min(all(bound), y));
  const Vec magic = all(12582912.f);  // 1.5 * 2^23: adding it rounds to an integer and leaves that in the low bits
  const Vec rounded = y + magic;
  const Vec f = y - (rounded - magic), f2 = f * f;
  const Vec low = 6.93147200e-1f * f + 1.f, middle = 5.55032522e-2f * f + 2.40221197e-1f;
  const Vec high = 1.33976462e-3f * f + 9.67770684e-3f;
  const Vec p = (high * f2 + middle) * f2 + low;
  return reinterpret_cast<Vec>(reinterpret_cast<IntVec>(p) + (reinterpret_cast<IntVec>(rounded) << 23));
}

// tanh(x) = 2 / (1 + e^-2x) - 1. Absolute error 1e-7, no more than that of the sums it is applied to.
INLINE Vec tanh_of(Vec x) { return 2.f * reciprocal(1.f + power_of_two(x * (-2.f * LOG2_E), 40.f)) - 1.f; }

INLINE const float* weights_of(const StepForward& s, int64_t block) {
  return s.weights + block * (s.d_in + s.d) * PANEL;
}

// Prefetches lines that will be written soon, while the multipliers are busy: a write to memory saved for the backward
// pass has to load its cache line first.
INLINE void fetch_to_write(const float* from, int64_t num_floats) {
  constexpr int64_t line = 16;
  for (int64_t i = 0; i < num_floats; i += line) __builtin_prefetch(from + i, 1, 2);
}

// b + W x over the first `columns` of x.
template <int R>
INLINE void begin_gate_sums(Vec (&sums)[R][4], const StepForward& s, int64_t block, int64_t row, int64_t columns) {
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[r][v] = load(s.bias + block * PANEL + v * WIDTH);
  multiply_add(sums, s.x + row * s.x_stride, s.x_stride, 1, weights_of(s, block), PANEL, columns);
}

// Adds U h and stores the sums.
template <int R>
INLINE void end_gate_sums(Vec (&sums)[R][4], const StepForward& s, int64_t block, int64_t row, float* out) {
  if (s.h) {
    const int64_t stride = s.num_blocks * WIDTH;
    multiply_add(sums, s.h + row * stride, stride, 1, weights_of(s, block) + s.d_in * PANEL, PANEL, s.d);
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) store(out + (row + r) * PANEL + v * WIDTH, sums[r][v]);
}

template <int R>
INLINE void some_gate_sums(const StepForward& s, int64_t block, int64_t row, float* out) {
  const int64_t stride = s.num_blocks * WIDTH;
  fetch_to_write(out + (row + ROWS) * PANEL, R * PANEL);
  if (block == 0) {
    fetch_to_write(s.c_out + row * stride, R * stride);
    fetch_to_write(s.h_out + row * stride, R * stride);
  }
  Vec sums[R][4];
  begin_gate_sums(sums, s, block, row, s.d_in);
  end_gate_sums(sums, s, block, row, out);
}

// Continues at `column`, which is multiplied by `sign`, with the rest of x and U h.
template <int R>
INLINE void some_gate_sums_from(const Vec (&begun)[R][4], const StepForward& s, int64_t column, float sign,
                                int64_t block, int64_t row, float* out) {
  const float* const x = s.x + row * s.x_stride + column;
  const float* const weights = weights_of(s, block) + column * PANEL;
  Vec sums[R][4];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    const Vec left = all(sign * x[r * s.x_stride]);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[r][v] = begun[r][v] + left * load(weights + v * WIDTH);
  }
  multiply_add(sums, x + 1, s.x_stride, 1, weights + PANEL, PANEL, s.d_in - column - 1);
  end_gate_sums(sums, s, block, row, out);
}

template <int R>
INLINE void some_gate_sums_mirrored(const StepForward& s, const StepForward& mirrored, int64_t column, int64_t block,
                                    int64_t row, float* out, float* out_mirrored) {
  Vec begun[R][4];
  begin_gate_sums(begun, s, block, row, column);
  some_gate_sums_from(begun, s, column, 1.f, block, row, out);
  some_gate_sums_from(begun, mirrored, column, -1.f, block, row, out_mirrored);
}

// How many rows to process next, so that no single row remains: one row alone is bound by the latency of its additions.
INLINE int64_t next_rows(int64_t left, int64_t at_once) {
  return left >= 2 * at_once ? at_once : left > at_once ? (left + 1) / 2 : left;
}

// W x + U h + b for one block's gates and rows [first, last), with packed weights.
static void gate_sums(const StepForward& s, int64_t block, int64_t first, int64_t last, float* out) {
  for (int64_t row = first; row < last;) {
    const int64_t some = next_rows(last - row, ROWS);
    switch (some) {
      case 1: some_gate_sums<1>(s, block, row, out); break;
      case 2: some_gate_sums<2>(s, block, row, out); break;
      case 3: some_gate_sums<3>(s, block, row, out); break;
#if ACCUMULATORS >= 24
      case 4: some_gate_sums<4>(s, block, row, out); break;
      case 5: some_gate_sums<5>(s, block, row, out); break;
      case 6: some_gate_sums<6>(s, block, row, out); break;
#endif
    }
    row += some;
  }
}

static void gate_sums_mirrored(const StepForward& s, const StepForward& mirrored, int64_t column, int64_t block,
                               int64_t first, int64_t last, float* out, float* out_mirrored) {
  for (int64_t row = first; row < last;) {
    const int64_t some = next_rows(last - row, ROWS);
    switch (some) {
      case 1: some_gate_sums_mirrored<1>(s, mirrored, column, block, row, out, out_mirrored); break;
      case 2: some_gate_sums_mirrored<2>(s, mirrored, column, block, row, out, out_mirrored); break;
      case 3: some_gate_sums_mirrored<3>(s, mirrored, column, block, row, out, out_mirrored); break;
#if ACCUMULATORS >= 24
      case 4: some_gate_sums_mirrored<4>(s, mirrored, column, block, row, out, out_mirrored); break;
      case 5: some_gate_sums_mirrored<5>(s, mirrored, column, block, row, out, out_mirrored); break;
      case 6: some_gate_sums_mirrored<6>(s, mirrored, column, block, row, out, out_mirrored); break;
#endif
    }
    row += some;
  }
}

// From sums to gates, in place, and on to c and h: sigmoid(x) = 1 / (1 + 2^y), where y = -x log2(e) is what the packed
// weights give, and tanh(x) = 2 sigmoid(2 x) - 1. Three loops with short dependency chains: a processor can hold a few
// hundred unfinished instructions, and with one long chain these would all belong to a single row.
static void activate_gates(const StepForward& s, int64_t block, int64_t first_row, int64_t last_row, float* gates) {
  const int64_t stride = s.num_blocks * WIDTH, first = block * WIDTH;
  constexpr float bound = 40.f * LOG2_E;
  for (int64_t row = first_row; row < last_row; ++row) {
    float* const own = gates + row * PANEL;
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) store(own + v * WIDTH, 1.f + power_of_two(load(own + v * WIDTH), bound));
  }
  // One reciprocal, the slowest operation here, for two gates. Beyond 40 a sigmoid is 0 or 1 to float precision, and
  // the product of two denominators is still finite. Only gates of the same unit share one, so that rows stay
  // independent.
  for (int64_t row = first_row; row < last_row; ++row) {
    float* const own = gates + row * PANEL;
    const Vec under_i = load(own), under_f = load(own + WIDTH);
    const Vec under_c = load(own + 2 * WIDTH), under_o = load(own + 3 * WIDTH);
    const Vec over_i_f = reciprocal(under_i * under_f), over_c_o = reciprocal(under_c * under_o);
    const Vec i = over_i_f * under_f, f = over_i_f * under_i, c_bar = 2.f * (over_c_o * under_o) - 1.f;
    Vec c = i * c_bar;
    if (s.c) c += f * load(s.c + row * stride + first);
    store(s.c_out + row * stride + first, c);
    store(own, i);
    store(own + WIDTH, f);
    store(own + 2 * WIDTH, c_bar);
    store(own + 3 * WIDTH, over_c_o * under_c);
  }
  for (int64_t row = first_row; row < last_row; ++row) {
    const int64_t at = row * stride + first;
    store(s.h_out + at, load(gates + row * PANEL + 3 * WIDTH) * tanh_of(load(s.c_out + at)));
  }
}

// Rows whose gates are summed and then activated together. All rows at once would not fit into the L1 cache along with
// the weights.
constexpr int64_t ROWS_IN_CACHE = 4 * ROWS;

INLINE int64_t end_of_rows_in_cache(int64_t first, int64_t rows) {
  return rows - first < ROWS_IN_CACHE + ROWS ? rows : first + ROWS_IN_CACHE;
}

static void step_forward(const StepForward& s) {
  for (int64_t block = 0; block < s.num_blocks; ++block) {
    float* const gates = s.gates + block * s.gates_block;
    for (int64_t first = 0, last; first < s.rows; first = last) {
      last = end_of_rows_in_cache(first, s.rows);
      gate_sums(s, block, first, last, gates);
      activate_gates(s, block, first, last, gates);
    }
  }
}

static void step_forward_mirrored(const StepForward& s, const StepForward& mirrored, int64_t column) {
  for (int64_t block = 0; block < s.num_blocks; ++block) {
    float* const gates = s.gates + block * s.gates_block;
    float* const gates_mirrored = mirrored.gates + block * mirrored.gates_block;
    for (int64_t first = 0, last; first < s.rows; first = last) {
      last = end_of_rows_in_cache(first, s.rows);
      gate_sums_mirrored(s, mirrored, column, block, first, last, gates, gates_mirrored);
      activate_gates(s, block, first, last, gates);
      activate_gates(mirrored, block, first, last, gates_mirrored);
    }
  }
}

static void step_backward(const StepBackward& s) {
  const int64_t stride = s.num_blocks * WIDTH;
  for (int64_t block = 0; block < s.num_blocks; ++block) {
    for (int64_t row = 0; row < s.rows; ++row) {
      const int64_t at = row * stride + block * WIDTH;
      const float* gates = s.gates + block * s.gates_block + row * PANEL;
      const Vec i = load(gates), f = load(gates + WIDTH), c_bar = load(gates + 2 * WIDTH), o = load(gates + 3 * WIDTH);
      Vec dh = load(s.dh + at);
      if (s.dh_above) dh += load(s.dh_above + at);
      const Vec tanh_c = tanh_of(load(s.c + at));
      const Vec dc = load(s.dc + at) + dh * o * (1.f - tanh_c * tanh_c);
      const Vec c_before = s.c_before ? load(s.c_before + at) : Vec{};
      store(s.dc + at, dc * f);
      float* out = s.dgates + block * s.dgates_block + row * PANEL;
      store(out, dc * c_bar * (i * (1.f - i)));
      store(out + WIDTH, dc * c_before * (f * (1.f - f)));
      store(out + 2 * WIDTH, dc * i * (1.f - c_bar * c_bar));
      store(out + 3 * WIDTH, dh * tanh_c * (o * (1.f - o)));
    }
  }
}

template <int R, int V>
INLINE void some_panels_times_weights(const PanelsTimesWeights& m, int64_t row, int64_t vector) {
  const float* weights = m.weights + vector * WIDTH * m.num_blocks * PANEL;
  float* const out = m.out + row * m.out_stride + vector * WIDTH;
  Vec sums[R][V];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sums[r][v] = m.adds ? load(out + r * m.out_stride + v * WIDTH) : Vec{};
  for (int64_t block = 0; block < m.num_blocks; ++block) {
    multiply_add(sums, m.panels + block * m.panels_block + row * PANEL, PANEL, 1,
                 weights + block * PANEL * V * WIDTH, V * WIDTH, PANEL);
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) store(out + r * m.out_stride + v * WIDTH, sums[r][v]);
}

template <int V>
INLINE void column_group_times_weights(const PanelsTimesWeights& m, int64_t vector) {
  for (int64_t row = 0; row < m.rows;) {
    const int64_t some = next_rows(m.rows - row, ROWS);
    switch (some) {
      case 1: some_panels_times_weights<1, V>(m, row, vector); break;
      case 2: some_panels_times_weights<2, V>(m, row, vector); break;
      case 3: some_panels_times_weights<3, V>(m, row, vector); break;
#if ACCUMULATORS >= 24
      case 4: some_panels_times_weights<4, V>(m, row, vector); break;
      case 5: some_panels_times_weights<5, V>(m, row, vector); break;
      case 6: some_panels_times_weights<6, V>(m, row, vector); break;
#endif
    }
    row += some;
  }
}

static void panels_times_weights(const PanelsTimesWeights& m) {
  for (int64_t vector = 0; vector < m.num_vectors; vector += 4) {
    switch (m.num_vectors - vector) {
      case 1: column_group_times_weights<1>(m, vector); break;
      case 2: column_group_times_weights<2>(m, vector); break;
      case 3: column_group_times_weights<3>(m, vector); break;
      default: column_group_times_weights<4>(m, vector); break;
    }
  }
}

// R columns of x, each multiplied by the four gates of a block's units.
template <int R>
INLINE void some_weight_gradients(const WeightGradient& m, int64_t block, int64_t column) {
  float* const to = m.sums + (block * m.columns + column) * PANEL;
  Vec sums[R][4];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[r][v] = load(to + r * PANEL + v * WIDTH);
  fetch_to_write(to + R * PANEL, R * PANEL);  // the next columns' sums
  multiply_add(sums, m.x + column, 1, m.x_stride, m.panels + block * m.panels_block, PANEL, m.rows);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) store(to + r * PANEL + v * WIDTH, sums[r][v]);
}

static void weight_gradient(const WeightGradient& m) {
  for (int64_t block = 0; block < m.num_blocks; ++block) {
    for (int64_t column = 0; column < m.columns;) {
      const int64_t some = next_rows(m.columns - column, ROWS);
      switch (some) {
        case 1: some_weight_gradients<1>(m, block, column); break;
        case 2: some_weight_gradients<2>(m, block, column); break;
        case 3: some_weight_gradients<3>(m, block, column); break;
#if ACCUMULATORS >= 24
        case 4: some_weight_gradients<4>(m, block, column); break;
        case 5: some_weight_gradients<5>(m, block, column); break;
        case 6: some_weight_gradients<6>(m, block, column); break;
#endif
      }
      column += some;
    }
  }
}

static void bias_gradient(const WeightGradient& m) {
  for (int64_t block = 0; block < m.num_blocks; ++block) {
    const float* panel = m.panels + block * m.panels_block;
    Vec sums[4] = {};
    for (int64_t row = 0; row < m.rows; ++row, panel += PANEL)
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[v] += load(panel + v * WIDTH);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      float* to = m.sums + block * PANEL + v * WIDTH;
      store(to, load(to) + sums[v]);
    }
  }
}

// The fractional part of a phase in turns, from -1/2 to 1/2.
INLINE Vec part_of_turn(double time, const double* omega, const double* phi) {
  const DoubleVec turns = time * *reinterpret_cast<const LooseDoubleVec*>(omega) +
                          *reinterpret_cast<const LooseDoubleVec*>(phi);
  const DoubleVec magic = 6755399441055744. - DoubleVec{};  // 1.5 * 2^52: adding it rounds to an integer
  return __builtin_convertvector(turns - ((turns + magic) - magic), Vec);
}

// sin(pi f) and cos(pi f) for |f| <= 1/2 by Taylor series; truncation error below 6e-8.
INLINE Vec sin_half(Vec y, Vec y2) {
  const Vec low = y2 * (y2 * (1.f / 120) - 1.f / 6) + 1.f;
  const Vec high = y2 * (y2 * (-1.f / 39916800) + 1.f / 362880) - 1.f / 5040;
  return y * (high * (y2 * y2 * y2) + low);
}

INLINE Vec cos_half(Vec y2) {
  const Vec low = y2 * (y2 * (1.f / 24) - 1.f / 2) + 1.f;
  const Vec high = y2 * (y2 * (y2 * (1.f / 479001600) - 1.f / 3628800) + 1.f / 40320) - 1.f / 720;
  return high * (y2 * y2 * y2) + low;
}

constexpr float PI = 3.14159265f;
constexpr double TURN = 6.283185307179586;

static void encode_times(const TimeEncoding& e) {
  for (int64_t event = 0; event < e.num_events; ++event) {
    const double time = e.time[event] * e.per_period;
    float* const out = e.out + event * (e.d_time + e.d_features);
    for (int64_t i = 0; i < e.d_time; i += WIDTH) {
      const Vec y = PI * part_of_turn(time, e.omega + i, e.phi + i);
      const Vec sin = sin_half(y, y * y), cosine = 1.f - 2.f * sin * sin;
      if (i + WIDTH <= e.d_time)
        store(out + i, cosine);
      else
        for (int64_t j = i; j < e.d_time; ++j) out[j] = cosine[j - i];
    }
    out[0] = static_cast<float>(TURN * (time * e.omega[0] + e.phi[0]));
    for (int64_t j = 0; j < e.d_features; ++j) out[e.d_time + j] = e.features[event * e.d_features + j];
  }
}

static void time_gradient(const TimeGradient& g) {
  constexpr int64_t few = 64;  // events that are summed in single precision before they are added in double
  for (int64_t first = 0; first < g.num_events; first += few) {
    const int64_t last = first + few < g.num_events ? first + few : g.num_events;
    for (int64_t i = 0; i < g.d_time; i += WIDTH) {
      Vec domega = {}, dphi = {};
      for (int64_t event = first; event < last; ++event) {
        const double time = g.time[event] * g.per_period;
        const float* const from = g.gradient + event * g.stride + i;
        Vec gradient = {};
        if (i + WIDTH <= g.d_time)
          gradient = load(from);
        else
          for (int64_t j = 0; j < g.d_time - i; ++j) gradient[j] = from[j];
        const Vec y = PI * part_of_turn(time, g.omega + i, g.phi + i), y2 = y * y;
        Vec slope = -2.f * sin_half(y, y2) * cos_half(y2);
        if (i == 0) slope[0] = 1.f;  // the linear part
        const Vec of_phase = gradient * slope;
        dphi += of_phase;
        domega += of_phase * static_cast<float>(time);
      }
      for (int64_t j = 0; j < WIDTH; ++j) {
        g.domega[i + j] += domega[j];
        g.dphi[i + j] += dphi[j];
      }
    }
  }
}

INLINE float dot(const float* a, const float* b, int64_t size) {
  Vec sums = {};
  int64_t i = 0;
  for (; i + WIDTH <= size; i += WIDTH) sums += load(a + i) * load(b + i);
  float sum = 0.f;
#pragma GCC unroll 16
  for (int lane = 0; lane < WIDTH; ++lane) sum += sums[lane];
  for (; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

// to += factor * from
INLINE void add_scaled(float* to, float factor, const float* from, int64_t size) {
  int64_t i = 0;
  for (; i + WIDTH <= size; i += WIDTH) store(to + i, load(to + i) + factor * load(from + i));
  for (; i < size; ++i) to[i] += factor * from[i];
}

INLINE void clear(float* to, int64_t size) {
  for (int64_t i = 0; i < size; ++i) to[i] = 0.f;
}

// Softmax over the events of one edge and head, in place; `apart` is the stride between weights.
static void softmax(float* weights, int64_t num_events, int64_t apart) {
  float largest = weights[0], sum = 0.f;
  for (int64_t i = 1; i < num_events; ++i)
    if (weights[i * apart] > largest) largest = weights[i * apart];
  for (int64_t i = 0; i < num_events; ++i) sum += weights[i * apart] = __builtin_expf(weights[i * apart] - largest);
  for (int64_t i = 0; i < num_events; ++i) weights[i * apart] /= sum;
}

static void attend_last(const LastAttention& m, float* weights, float* out) {
  const int64_t heads = m.num_heads, row = heads * m.d_query;
  for (int64_t edge = m.first_edge; edge < m.last_edge; ++edge) {
    const int64_t first = m.offset[edge], num_events = m.offset[edge + 1] - first;
    float* const own = out + edge * heads * m.d;
    clear(own, heads * m.d);
    if (!num_events) continue;
    for (int64_t event = first; event < first + num_events; ++event)
      for (int64_t head = 0; head < heads; ++head) {
        const int64_t at = head * m.d_query;
        weights[event * heads + head] = m.scale * dot(m.q + edge * row + at, m.k + event * row + at, m.d_query);
      }
    for (int64_t head = 0; head < heads; ++head) softmax(weights + first * heads + head, num_events, heads);
    for (int64_t event = first; event < first + num_events; ++event)
      for (int64_t head = 0; head < heads; ++head)
        add_scaled(own + head * m.d, weights[event * heads + head], m.e + event * m.d, m.d);
  }
}

static void attend_last_backward(const LastAttention& m, const float* weights, const float* dout, float* dq, float* dk,
                                 float* de) {
  const int64_t heads = m.num_heads, row = heads * m.d_query;
  for (int64_t edge = m.first_edge; edge < m.last_edge; ++edge) {
    const int64_t first = m.offset[edge], last = m.offset[edge + 1];
    const float* const given = dout + edge * heads * m.d;
    clear(dq + edge * row, row);
    for (int64_t event = first; event < last; ++event) clear(de + event * m.d, m.d);
    for (int64_t head = 0; head < heads; ++head) {
      const float* const of_head = given + head * m.d;
      const int64_t at = head * m.d_query;
      float mean = 0.f;  // weighted mean of the weights' gradients, which are stored in dk until they are used
      for (int64_t event = first; event < last; ++event) {
        const float weight = weights[event * heads + head], of_weight = dot(of_head, m.e + event * m.d, m.d);
        add_scaled(de + event * m.d, weight, of_head, m.d);
        mean += weight * of_weight;
        dk[event * row + at] = of_weight;
      }
      for (int64_t event = first; event < last; ++event) {
        float* const own = dk + event * row + at;
        const float of_logit = m.scale * weights[event * heads + head] * (own[0] - mean);
        add_scaled(dq + edge * row + at, of_logit, m.k + event * row + at, m.d_query);
        for (int64_t i = 0; i < m.d_query; ++i) own[i] = of_logit * m.q[edge * row + at + i];
      }
    }
  }
}

// The last, partial vector of a row, padded with zeros.
INLINE Vec load_part(const float* from, int64_t size) {
  Vec value = {};
  for (int64_t j = 0; j < size; ++j) value[j] = from[j];
  return value;
}

INLINE void store_part(float* to, Vec value, int64_t size) {
  for (int64_t j = 0; j < size; ++j) to[j] = value[j];
}

// PART: the last vector is partial. A template parameter, since otherwise the sums don't stay in registers.
template <int R, int V, bool PART>
INLINE void add_neighbours(const NeighbourSums& m, int64_t slot, int64_t first) {
  constexpr int last = PART ? V - 1 : V;
  const int64_t size = m.d_hidden - first - last * WIDTH;
  Vec sums[R][V];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    const float* const from = m.from_node + m.neighbour[slot + r] * m.d_hidden + first;
#pragma GCC unroll 16
    for (int v = 0; v < last; ++v) sums[r][v] = load(from + v * WIDTH);
    if constexpr (PART) sums[r][last] = load_part(from + last * WIDTH, size);
  }
  multiply_add(sums, m.e + slot * m.d_edge, m.d_edge, 1, m.weights + first * m.d_edge, V * WIDTH, m.d_edge);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    const Vec alpha = all(m.alpha[slot + r]);
    float* const to = m.total + m.target[slot + r] * m.d_hidden + first;
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sums[r][v] = alpha * vector_max(all(0.f), sums[r][v]);
#pragma GCC unroll 16
    for (int v = 0; v < last; ++v) store(to + v * WIDTH, load(to + v * WIDTH) + sums[r][v]);
    if constexpr (PART) store_part(to + last * WIDTH, load_part(to + last * WIDTH, size) + sums[r][last], size);
  }
}

template <int R, bool PART>
INLINE void add_columns(const NeighbourSums& m, int64_t slot, int64_t first, int64_t num_vectors) {
  switch (num_vectors) {
    case 1: add_neighbours<R, 1, PART>(m, slot, first); break;
    case 2: add_neighbours<R, 2, PART>(m, slot, first); break;
    case 3: add_neighbours<R, 3, PART>(m, slot, first); break;
    case 4: add_neighbours<R, 4, PART>(m, slot, first); break;
  }
}

template <int R>
INLINE void add_slots(const NeighbourSums& m, int64_t slot) {
  int64_t first = 0;
  for (; first + 4 * WIDTH <= m.d_hidden; first += 4 * WIDTH) add_neighbours<R, 4, false>(m, slot, first);
  const int64_t left = m.d_hidden - first;
  if (left % WIDTH)
    add_columns<R, true>(m, slot, first, left / WIDTH + 1);
  else
    add_columns<R, false>(m, slot, first, left / WIDTH);
}

static void sum_neighbours(const NeighbourSums& m) {
  constexpr int64_t ahead = 16;  // slots to prefetch: neighbours are anywhere in memory, unknown to the hardware
  constexpr int64_t line = 16;   // floats in a cache line
  for (int64_t slot = 0; slot < m.num_slots;) {
    const int64_t some = next_rows(m.num_slots - slot, ROWS);
    for (int64_t later = slot + ahead; later < slot + ahead + some && later < m.num_slots; ++later)
      for (int64_t j = 0; j < m.d_hidden; j += line)
        __builtin_prefetch(m.from_node + m.neighbour[later] * m.d_hidden + j);
    switch (some) {
      case 1: add_slots<1>(m, slot); break;
      case 2: add_slots<2>(m, slot); break;
      case 3: add_slots<3>(m, slot); break;
#if ACCUMULATORS >= 24
      case 4: add_slots<4>(m, slot); break;
      case 5: add_slots<5>(m, slot); break;
      case 6: add_slots<6>(m, slot); break;
#endif
    }
    slot += some;
  }
}

static float multiply_adds(int64_t repeats) {
  Vec sums[ACCUMULATORS];
#pragma GCC unroll 32
  for (int v = 0; v < ACCUMULATORS; ++v) sums[v] = all(1.f + v);
  const Vec factor = all(0.999f), addend = all(1e-3f);
  for (int64_t repeat = 0; repeat < repeats; ++repeat)
#pragma GCC unroll 32
    for (int v = 0; v < ACCUMULATORS; ++v) sums[v] = sums[v] * factor + addend;
  Vec total = {};
#pragma GCC unroll 32
  for (int v = 0; v < ACCUMULATORS; ++v) total += sums[v];
  return total[0];
}

#define INSTRUCTION_SET(name, supported)                                                                             \
  {name, WIDTH, 4, supported, step_forward, step_forward_mirrored, step_backward, panels_times_weights,              \
   weight_gradient, bias_gradient, encode_times, time_gradient, attend_last, attend_last_backward, sum_neighbours,   \
   multiply_adds, ACCUMULATORS * WIDTH}
