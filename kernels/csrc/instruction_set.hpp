// The operations that each instruction set implements. One source (vector_code.inl) is compiled once per instruction
// set, and the choice is made at run time, so one build runs on every machine of an architecture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gtea {

// Hidden units are processed in blocks of one vector. The four gates of a block are adjacent, [i.. | f.. | c.. | o..]:
// a "panel" of 4 * width floats. All gates of a unit are in registers when their sums are complete.

constexpr float LOG2_E = 1.44269504f;

// StepForward's sums are used as exponents of two: sigmoid(x) = 1 / (1 + 2^(-x log2 e)), and c_bar comes from a sigmoid
// of 2 x. These factors are folded into the weights when they are packed: once per call instead of once per event.
constexpr float GATE_FACTORS[4] = {-LOG2_E, -LOG2_E, -2 * LOG2_E, -LOG2_E};

struct StepForward {
  int64_t rows, d_in, d, num_blocks;
  const float* x;        // [rows, x_stride]
  int64_t x_stride;
  const float* h;        // [rows, num_blocks * width], or null for zeros
  const float* c;        // the same, or null for zeros
  float* h_out;          // must not be h: all of h is read for each block
  float* c_out;          // may be c
  float* gates;          // [num_blocks][gates_block], a panel per row
  int64_t gates_block;   // floats from one block's rows to the next block's; 0 if they are not needed later
  const float* weights;  // [num_blocks][d_in + d][panel], times GATE_FACTORS
  const float* bias;     // [num_blocks][panel], likewise
};

struct StepBackward {
  int64_t rows, num_blocks;
  const float* gates;        // as StepForward wrote them
  int64_t gates_block;
  const float* c;            // after the step
  const float* c_before;     // or null for zeros
  const float* dh;           // gradient of h from later steps
  const float* dh_above;     // gradient of h from the layer above, [rows, num_blocks * width], or null
  float* dc;                 // in: gradient of c from later steps; out: the same for the previous step
  float* dgates;             // [num_blocks][dgates_block], a panel per row
  int64_t dgates_block;
};

// out = panels x weights, or out += panels x weights, for rows of panels as written by StepBackward.
struct PanelsTimesWeights {
  int64_t rows, num_blocks;
  const float* panels;
  int64_t panels_block;
  const float* weights;  // columns in groups of column_group() vectors, each [num_blocks * panel][vectors * width]
  int64_t num_vectors;   // columns / width
  float* out;            // [rows, out_stride]
  int64_t out_stride;
  bool adds;
};

// sums[j, g] += sum over rows of x[row, j] * panels[row, g].
struct WeightGradient {
  int64_t rows, num_blocks;
  const float* panels;
  int64_t panels_block;
  const float* x;       // [rows, x_stride]; only the first `columns` are used
  int64_t x_stride, columns;
  float* sums;          // [num_blocks][columns][panel]
};

// Rows [tau(t) || f]. Phases are in turns and in double precision: with a period of a minute, years are millions of
// turns.
struct TimeEncoding {
  int64_t num_events, d_time, d_features;
  const float* time;
  double per_period;       // t * per_period is in units of the longest period
  const double* omega;     // turns per longest period, and
  const double* phi;       // turns at time 0; both padded with zeros to whole vectors
  const float* features;   // [num_events, d_features]
  float* out;              // [num_events, d_time + d_features]
};

// omega[i] += sum over events of g d tau_i / d omega_i, with omega and phi in radians; phi likewise.
struct TimeGradient {
  int64_t num_events, d_time;
  const float* time;
  double per_period;
  const double* omega;     // in turns, as above
  const double* phi;
  const float* gradient;   // [num_events, stride]; the first d_time columns are tau's
  int64_t stride;
  double* domega;          // padded to whole vectors
  double* dphi;
};

// One query per edge and head attends to all events of the edge. The heads of a query or key are adjacent.
struct LastAttention {
  int64_t first_edge, last_edge;
  int64_t num_heads, d_query, d;
  float scale;             // of the logits
  const int64_t* offset;
  const float* q;          // [num_edges, num_heads * d_query]
  const float* k;          // [num_events, num_heads * d_query]
  const float* e;          // [num_events, d]
};

// total[target[i]] += alpha[i] relu(from_node[neighbour[i]] + W e[i]) over slots i.
struct NeighbourSums {
  int64_t num_slots, d_edge, d_hidden;
  const float* from_node;     // [num_nodes, d_hidden]
  const float* e;             // [num_slots, d_edge]
  const float* weights;       // W, its rows in groups of at most column_group vectors, each [d_edge][vectors * width]
  const int64_t* neighbour;   // [num_slots]
  const int64_t* target;
  const float* alpha;
  float* total;               // [num_targets, d_hidden]
};

struct InstructionSet {
  const char* name;
  int width;         // floats in a vector
  int column_group;  // vectors in a group of PanelsTimesWeights' columns
  bool (*supported)();
  void (*step_forward)(const StepForward&);
  // The same step twice, with the same x and weights, except that the second reads -x in one column. The sum over the
  // columns before that one is shared. Each result is bit for bit that of step_forward.
  void (*step_forward_mirrored)(const StepForward&, const StepForward& mirrored, int64_t column);
  void (*step_backward)(const StepBackward&);
  void (*panels_times_weights)(const PanelsTimesWeights&);
  void (*weight_gradient)(const WeightGradient&);
  void (*bias_gradient)(const WeightGradient&);  // sums[g] += sum over rows of panels[row, g]
  void (*encode_times)(const TimeEncoding&);
  void (*time_gradient)(const TimeGradient&);
  void (*attend_last)(const LastAttention&, float* weights, float* out);
  void (*attend_last_backward)(const LastAttention&, const float* weights, const float* dout, float* dq, float* dk,
                               float* de);
  void (*sum_neighbours)(const NeighbourSums&);
  float (*multiply_adds)(int64_t repeats);       // only fused multiply-adds in registers, to measure the peak
  int multiply_adds_per_repeat;                  // in floats
};

// Those in this build that this machine can run, the fastest first; the last one runs everywhere.
const std::vector<const InstructionSet*>& instruction_sets();
const InstructionSet& instruction_set(const std::string& name);

}  // namespace gtea
