// The arithmetic, written once over vectors of WIDTH floats. The including file says which instructions may be used and
// defines WIDTH, ACCUMULATORS (vectors of sums that fit into the registers beside what they are made from), vector_min
// and vector_max. Nothing here may call inline functions of the standard library: the linker keeps one copy of such a
// function for the whole program, and it might be the one that this machine can't run.

typedef float Vec __attribute__((vector_size(4 * WIDTH)));
typedef int32_t IntVec __attribute__((vector_size(4 * WIDTH)));
typedef float LooseVec __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))

constexpr int PANEL = 4 * WIDTH;
constexpr int ROWS = ACCUMULATORS / 4;  // rows whose four gates are summed up at once

INLINE Vec load(const float* from) { return *reinterpret_cast<const LooseVec*>(from); }
INLINE void store(float* to, Vec value) { *reinterpret_cast<LooseVec*>(to) = value; }
INLINE Vec all(float value) { return value - Vec{}; }

// sums[r][v] += a[r, k] * b[k, v] over k. For each (r, v) the order of the additions depends on k alone, not on how many
// rows are taken at once: a history's result has the same bits in whatever company it is computed.
template <int R, int V>
INLINE void multiply_add(Vec (&sums)[R][V], const float* a, int64_t a_row, int64_t a_k, const float* b, int64_t b_k,
                         int64_t num_k) {
  for (int64_t k = 0; k < num_k; ++k) {
    Vec right[V];
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) right[v] = load(b + v * WIDTH);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Vec left = all(a[r * a_row]);
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sums[r][v] += left * right[v];
    }
    a += a_k;
    b += b_k;
  }
}

// e^x by 2^n * 2^f, n an integer and |f| <= 1/2. Relative error below 3e-7 for |x| <= 80.
INLINE Vec exponential(Vec x) {
  const Vec magic = all(12582912.f);  // 1.5 * 2^23: adding it rounds to an integer, which stands in the low bits
  const Vec scaled = x * 1.44269504f;
  const Vec rounded = scaled + magic;
  const Vec f = scaled - (rounded - magic);
  Vec p = all(1.33976462e-3f);
  p = p * f + 9.67770684e-3f;
  p = p * f + 5.55032522e-2f;
  p = p * f + 2.40221197e-1f;
  p = p * f + 6.93147200e-1f;
  p = p * f + 1.0000000f;
  return reinterpret_cast<Vec>(reinterpret_cast<IntVec>(p) + (reinterpret_cast<IntVec>(rounded) << 23));
}

INLINE Vec within(Vec x, float bound) { return vector_max(all(-bound), vector_min(all(bound), x)); }

struct TwoVecs {
  Vec first, second;
};

// 1 / (1 + e^-x) and 1 / (1 + e^-y) by one division: it is the slowest instruction here. e^40 squared is still finite.
INLINE TwoVecs two_sigmoids(Vec x, Vec y) {
  const Vec under_x = 1.f + exponential(-within(x, 40.f));
  const Vec under_y = 1.f + exponential(-within(y, 40.f));
  const Vec both = 1.f / (under_x * under_y);
  return {both * under_y, both * under_x};
}

// tanh(x) = 2 sigmoid(2x) - 1: an absolute error of 1e-7, which is what sums of other gates' products have anyway.
INLINE Vec tanh_of(Vec x) { return 2.f / (1.f + exponential(-2.f * within(x, 20.f))) - 1.f; }

template <int R>
INLINE void finish_gates(const StepForward& s, Vec (&sums)[R][4], int64_t block, int64_t row) {
  const int64_t stride = s.num_blocks * WIDTH;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    const int64_t at = (row + r) * stride + block * WIDTH;
    const TwoVecs i_f = two_sigmoids(sums[r][0], sums[r][1]);
    const TwoVecs c_o = two_sigmoids(2.f * sums[r][2], sums[r][3]);
    const Vec c_bar = 2.f * c_o.first - 1.f;
    Vec c = i_f.first * c_bar;
    if (s.c) c += i_f.second * load(s.c + at);
    store(s.c_out + at, c);
    store(s.h_out + at, c_o.second * tanh_of(c));
    if (s.gates) {
      float* out = s.gates + block * s.gates_block + (row + r) * PANEL;
      store(out, i_f.first);
      store(out + WIDTH, i_f.second);
      store(out + 2 * WIDTH, c_bar);
      store(out + 3 * WIDTH, c_o.second);
    }
  }
}

template <int R>
INLINE void some_rows_forward(const StepForward& s, int64_t block, int64_t row) {
  const float* weights = s.weights + block * (s.d_in + s.d) * PANEL;
  Vec sums[R][4];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[r][v] = load(s.bias + block * PANEL + v * WIDTH);
  multiply_add(sums, s.x + row * s.x_stride, s.x_stride, 1, weights, PANEL, s.d_in);
  if (s.h) {
    const int64_t stride = s.num_blocks * WIDTH;
    multiply_add(sums, s.h + row * stride, stride, 1, weights + s.d_in * PANEL, PANEL, s.d);
  }
  finish_gates(s, sums, block, row);
}

// How many rows to take next, so that no single row is left over: a lone row keeps the adders waiting for each other.
INLINE int64_t next_rows(int64_t left, int64_t at_once) {
  return left >= 2 * at_once ? at_once : left > at_once ? (left + 1) / 2 : left;
}

static void step_forward(const StepForward& s) {
  for (int64_t block = 0; block < s.num_blocks; ++block) {
    for (int64_t row = 0; row < s.rows;) {
      const int64_t some = next_rows(s.rows - row, ROWS);
      switch (some) {
        case 1: some_rows_forward<1>(s, block, row); break;
        case 2: some_rows_forward<2>(s, block, row); break;
        case 3: some_rows_forward<3>(s, block, row); break;
#if ACCUMULATORS >= 24
        case 4: some_rows_forward<4>(s, block, row); break;
        case 5: some_rows_forward<5>(s, block, row); break;
        case 6: some_rows_forward<6>(s, block, row); break;
#endif
      }
      row += some;
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
  Vec sums[R][V] = {};
  for (int64_t block = 0; block < m.num_blocks; ++block) {
    multiply_add(sums, m.panels + block * m.panels_block + row * PANEL, PANEL, 1,
                 weights + block * PANEL * V * WIDTH, V * WIDTH, PANEL);
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) store(m.out + (row + r) * m.out_stride + (vector + v) * WIDTH, sums[r][v]);
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

template <int R, int V>
INLINE void some_weight_gradients(const WeightGradient& m, int64_t block, int64_t gate, int64_t vector) {
  const int64_t columns = m.num_vectors * WIDTH;
  Vec sums[R][V] = {};
  multiply_add(sums, m.panels + block * m.panels_block + gate, 1, PANEL, m.x + vector * WIDTH, columns, m.rows);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) {
      float* to = m.sums + (block * PANEL + gate + r) * columns + (vector + v) * WIDTH;
      store(to, load(to) + sums[r][v]);
    }
}

template <int R, int V>
INLINE void column_group_weight_gradient(const WeightGradient& m, int64_t block, int64_t vector) {
  int64_t gate = 0;
  for (; gate + R <= PANEL; gate += R) some_weight_gradients<R, V>(m, block, gate, vector);
  for (; gate + 2 <= PANEL; gate += 2) some_weight_gradients<2, V>(m, block, gate, vector);
  for (; gate < PANEL; ++gate) some_weight_gradients<1, V>(m, block, gate, vector);
}

static void weight_gradient(const WeightGradient& m) {
  for (int64_t block = 0; block < m.num_blocks; ++block) {
    for (int64_t vector = 0; vector < m.num_vectors;) {
      // Never a lone vector beside threes: of four, two and two.
      const int64_t left = m.num_vectors - vector;
      const int64_t some = left == 4 ? 2 : left < 3 ? left : 3;
      switch (some) {
        case 1: column_group_weight_gradient<ACCUMULATORS / 2, 1>(m, block, vector); break;
        case 2: column_group_weight_gradient<ACCUMULATORS / 2, 2>(m, block, vector); break;
        case 3: column_group_weight_gradient<ACCUMULATORS / 3, 3>(m, block, vector); break;
      }
      vector += some;
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
  {name, WIDTH, 4, supported, step_forward, step_backward, panels_times_weights, weight_gradient, bias_gradient,     \
   multiply_adds, ACCUMULATORS * WIDTH}
