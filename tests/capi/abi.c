/* The C ABI from C: argument errors, the missing GPU, and (with TILE_BACKEND=cpu, pointers then being host pointers)
 * results of every function, and limits of the process. Usage: abi MODE, see `main`. Exit status 0 when all holds. */
#define _GNU_SOURCE /* pthread attributes and limits, beside C99 */
#include "tile.h"
#include "tile_challenges.h"
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int failures;

#define CHECK(cond) do { if (!(cond)) { failures++; fprintf(stderr, "%s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #cond, tile_last_error()); } } while (0)
/* The code, and that the message names the argument. */
#define FAILS(call, code, word) do { int got = (call); CHECK(got == (code)); CHECK(strstr(tile_last_error(), word) != NULL); } while (0)

static void errors(void) {
    static float x[64], y[64];
    static int i[64], c[1];
    static unsigned u[64];
    static unsigned char image[256];
    static uint16_t h[64];
    static int8_t q[64];
    CHECK(strcmp(tile_last_error(), "") == 0);

    /* Null pointers with a positive length. */
    FAILS(solve_vector_add(NULL, x, y, 4), TILE_ERROR_ARGUMENT, "null");
    FAILS(solve_vector_add(x, NULL, y, 4), TILE_ERROR_ARGUMENT, "null");
    FAILS(solve_vector_add(x, x, NULL, 4), TILE_ERROR_ARGUMENT, "null");
    FAILS(solve_relu(NULL, y, 4), TILE_ERROR_ARGUMENT, "null");
    FAILS(solve_leaky_relu(x, NULL, 4), TILE_ERROR_ARGUMENT, "null");
    FAILS(solve_gelu(NULL, NULL, 4), TILE_ERROR_ARGUMENT, "null");
    FAILS(solve_matrix_transpose(x, NULL, 2, 2), TILE_ERROR_ARGUMENT, "output");
    FAILS(solve_softmax(NULL, y, 4), TILE_ERROR_ARGUMENT, "input");
    FAILS(solve_color_inversion(NULL, 2, 2), TILE_ERROR_ARGUMENT, "image");
    FAILS(solve_1d_convolution(x, NULL, y, 8, 3), TILE_ERROR_ARGUMENT, "kernel");
    FAILS(solve_reverse_array(NULL, 4), TILE_ERROR_ARGUMENT, "input");
    FAILS(solve_rainbow_table(i, NULL, 4, 1), TILE_ERROR_ARGUMENT, "output");
    FAILS(solve_matrix_copy(NULL, y, 2), TILE_ERROR_ARGUMENT, "A");
    FAILS(solve_count_array_element(i, NULL, 4, 1), TILE_ERROR_ARGUMENT, "output");
    FAILS(solve_count_2d_array_element(NULL, c, 2, 2, 1), TILE_ERROR_ARGUMENT, "input");
    FAILS(solve_reduction(NULL, y, 4), TILE_ERROR_ARGUMENT, "input");
    FAILS(tile_softmax_rows(x, NULL, 2, 2), TILE_ERROR_ARGUMENT, "y");
    FAILS(tile_gelu(1, NULL, y, 4), TILE_ERROR_ARGUMENT, "x");
    FAILS(solve_matrix_multiplication(x, NULL, y, 2, 2, 2), TILE_ERROR_ARGUMENT, "B is a null");
    FAILS(solve_gemm(h, h, NULL, 2, 2, 2, 1, 0), TILE_ERROR_ARGUMENT, "C is a null");
    FAILS(solve_int8_quantized_matmul(q, NULL, q + 8, 2, 2, 2, 1, 1, 1, 0, 0, 0), TILE_ERROR_ARGUMENT, "B is a null");
    FAILS(solve_fp16_dot_product(NULL, h, h + 8, 4), TILE_ERROR_ARGUMENT, "A is a null");
    FAILS(solve_fp16_dot_product(h, h, NULL, 4), TILE_ERROR_ARGUMENT, "result is a null");
    FAILS(solve_batched_matrix_multiplication(NULL, x, y, 2, 2, 2, 2), TILE_ERROR_ARGUMENT, "A is a null");
    FAILS(solve_fp16_batched_matmul(h, NULL, h + 32, 2, 2, 2, 2), TILE_ERROR_ARGUMENT, "B is a null");
    FAILS(tile_batched_matmul(2, h, h, NULL, 2, 2, 2, 2), TILE_ERROR_ARGUMENT, "c is a null");
    FAILS(tile_grouped_matmul(1, 0, h, h + 8, NULL, h + 32, 2, 2, 2, 2), TILE_ERROR_ARGUMENT, "ends is a null");
    FAILS(tile_matmul(1, 0, 0, 0, NULL, h, h + 8, 2, 2, 2), TILE_ERROR_ARGUMENT, "a is a null");
    FAILS(tile_matmul(0, 0, 0, 0, NULL, NULL, NULL, 2, 2, 0), TILE_ERROR_ARGUMENT, "c is a null");

    /* Handles that are none. */
    FAILS(tile_create(NULL), TILE_ERROR_ARGUMENT, "handle is a null");
    FAILS(tile_handle_relu(NULL, TILE_DTYPE_F32, x, y, 4), TILE_ERROR_ARGUMENT, "handle is a null");
    FAILS(tile_handle_set_stream(NULL, NULL), TILE_ERROR_ARGUMENT, "handle is a null");
    CHECK(strcmp(tile_handle_last_error(NULL), "") == 0);
    CHECK(tile_destroy(NULL) == TILE_OK);
    CHECK(tile_abi_version() == TILE_ABI_VERSION);
    CHECK(strchr(tile_version(), '.') != NULL);

    /* Negative sizes. */
    FAILS(solve_relu(x, y, -1), TILE_ERROR_ARGUMENT, "N is -1");
    FAILS(solve_matrix_transpose(x, y, -2, 2), TILE_ERROR_ARGUMENT, "rows");
    FAILS(solve_matrix_transpose(x, y, 2, INT_MIN), TILE_ERROR_ARGUMENT, "cols");
    FAILS(solve_color_inversion(image, 2, -2), TILE_ERROR_ARGUMENT, "height");
    FAILS(solve_1d_convolution(x, y, y, 8, -3), TILE_ERROR_ARGUMENT, "kernel_size");
    FAILS(solve_rainbow_table(i, u, 4, -1), TILE_ERROR_ARGUMENT, "R is -1");
    FAILS(solve_reverse_array(x, -4), TILE_ERROR_ARGUMENT, "negative");
    FAILS(solve_count_2d_array_element(i, c, -1, -1, 0), TILE_ERROR_ARGUMENT, "negative");
    FAILS(tile_vector_add(0, x, x, y, LLONG_MIN), TILE_ERROR_ARGUMENT, "negative");
    FAILS(tile_softmax_rows(x, y, 1, -1), TILE_ERROR_ARGUMENT, "cols");
    FAILS(solve_matrix_multiplication(x, x, y, 2, -2, 2), TILE_ERROR_ARGUMENT, "N is -2");
    FAILS(solve_gemm(h, h, h, 2, 2, INT_MIN, 1, 0), TILE_ERROR_ARGUMENT, "K is");
    FAILS(solve_int8_quantized_matmul(q, q, q + 8, 2, -2, 2, 1, 1, 1, 0, 0, 0), TILE_ERROR_ARGUMENT, "N is -2");
    FAILS(solve_fp16_dot_product(h, h, h + 8, -4), TILE_ERROR_ARGUMENT, "N is -4");
    FAILS(solve_batched_matrix_multiplication(x, x, y, -1, 0, 0, 0), TILE_ERROR_ARGUMENT, "BATCH is -1");
    FAILS(solve_fp16_batched_matmul(h, h, h, 0, 0, 0, INT_MIN), TILE_ERROR_ARGUMENT, "K is");
    FAILS(tile_batched_matmul(0, x, x, y, LLONG_MIN, 2, 2, 2), TILE_ERROR_ARGUMENT, "batch is");
    FAILS(tile_batched_matmul(0, x, x, y, 0, 2, -2, 2), TILE_ERROR_ARGUMENT, "n is -2");
    FAILS(tile_matmul(0, 0, 0, 0, x, x, y, -1, 0, 0), TILE_ERROR_ARGUMENT, "m is -1");
    FAILS(tile_matmul_relu(0, 0, 0, 0, x, x, y, 0, -1, 0), TILE_ERROR_ARGUMENT, "n is -1");
    FAILS(tile_matmul_leaky_relu(0, 0, 0, 0, x, x, y, 0, 0, LLONG_MIN), TILE_ERROR_ARGUMENT, "k is");

    /* Sizes whose byte count overflows. */
    FAILS(solve_vector_add(x, x, y, SIZE_MAX), TILE_ERROR_ARGUMENT, "addressed");
    FAILS(solve_vector_add(x, x, y, SIZE_MAX / 4), TILE_ERROR_ARGUMENT, "addressed");
    FAILS(tile_relu(0, x, y, LLONG_MAX), TILE_ERROR_ARGUMENT, "addressed");
    FAILS(tile_softmax_rows(x, y, LLONG_MAX, LLONG_MAX), TILE_ERROR_ARGUMENT, "64 bits");
    FAILS(tile_softmax_rows(x, y, LLONG_MAX / 2, 2), TILE_ERROR_ARGUMENT, "addressed");
    FAILS(solve_matrix_multiplication(x, x, y, INT_MAX, INT_MAX, INT_MAX), TILE_ERROR_ARGUMENT, "addressed");
    FAILS(solve_batched_matrix_multiplication(x, x, y, INT_MAX, INT_MAX, INT_MAX, 2), TILE_ERROR_ARGUMENT, "64 bits");
    FAILS(tile_batched_matmul(1, h, h, h, LLONG_MAX, 2, 2, 2), TILE_ERROR_ARGUMENT, "64 bits");
    FAILS(tile_batched_matmul(0, x, x, y, LLONG_MAX / 2, 1, 1, 1), TILE_ERROR_ARGUMENT, "addressed");
    FAILS(tile_batched_matmul(0, x, x, y, 1, 2, 2, LLONG_MAX), TILE_ERROR_ARGUMENT, "addressed");
    FAILS(tile_batched_matmul(0, x, x, y, 3, 2, 2, LLONG_MAX), TILE_ERROR_ARGUMENT, "64 bits");
    FAILS(tile_matmul(1, 0, 0, 0, h, h, h, LLONG_MAX, 4, 2), TILE_ERROR_ARGUMENT, "64 bits");
    FAILS(tile_matmul(1, 0, 1, 0, h, h, h, LLONG_MAX / 2, 2, 1), TILE_ERROR_ARGUMENT, "addressed");

    /* A dtype that is none, and an address that is not aligned to its element. */
    FAILS(tile_relu(3, x, y, 4), TILE_ERROR_ARGUMENT, "dtype is 3");
    FAILS(tile_gelu(-1, x, y, 4), TILE_ERROR_ARGUMENT, "dtype is -1");
    FAILS(tile_relu(0, (char *)x + 2, y, 4), TILE_ERROR_ARGUMENT, "multiple");
    FAILS(tile_relu(1, (char *)x + 1, y, 4), TILE_ERROR_ARGUMENT, "multiple");
    FAILS(tile_batched_matmul(3, x, x, y, 2, 2, 2, 2), TILE_ERROR_ARGUMENT, "dtype is 3");
    FAILS(tile_batched_matmul(0, x, (char *)x + 2, y, 2, 2, 2, 2), TILE_ERROR_ARGUMENT, "multiple");
    FAILS(tile_grouped_matmul(0, 0, x, x, i, y, 2, 2, 2, 2), TILE_ERROR_ARGUMENT, "dtype is 0");
    FAILS(tile_grouped_matmul(1, 2, h, h, i, h + 32, 2, 2, 2, 2), TILE_ERROR_ARGUMENT, "trans_b is 2");
    FAILS(tile_grouped_matmul(1, 0, h, h, i, h + 32, -1, 2, 2, 2), TILE_ERROR_ARGUMENT, "groups is -1");
    FAILS(solve_fp16_dot_product(h, (uint16_t *)((char *)h + 1), h + 8, 4), TILE_ERROR_ARGUMENT, "multiple");
    FAILS(tile_matmul(6, 0, 0, 0, x, x, y, 2, 2, 2), TILE_ERROR_ARGUMENT, "dtype is 6");
    FAILS(tile_matmul(-1, 0, 0, 0, x, x, y, 0, 0, 0), TILE_ERROR_ARGUMENT, "dtype is -1");
    FAILS(tile_matmul(0, 3, 0, 0, x, x, y, 2, 2, 2), TILE_ERROR_ARGUMENT, "precision is 3");
    FAILS(tile_matmul_relu(0, -1, 0, 0, x, x, y, 2, 2, 2), TILE_ERROR_ARGUMENT, "precision is -1");
    FAILS(tile_matmul(1, 2, 0, 0, h, h, h + 8, 2, 2, 2), TILE_ERROR_ARGUMENT, "tf32");
    FAILS(tile_matmul(0, 0, 2, 0, x, x, y, 2, 2, 2), TILE_ERROR_ARGUMENT, "trans_a is 2");
    FAILS(tile_matmul(0, 0, 0, -1, x, x, y, 2, 2, 2), TILE_ERROR_ARGUMENT, "trans_b is -1");
    FAILS(tile_matmul_leaky_relu(3, 0, 0, 0, image, image, i, 2, 2, 2), TILE_ERROR_ARGUMENT, "int32");
    FAILS(tile_matmul(1, 0, 0, 0, (char *)h + 1, h, h + 8, 2, 2, 2), TILE_ERROR_ARGUMENT, "multiple");

    /* Zero points that no int8 is. */
    FAILS(solve_int8_quantized_matmul(q, q, q + 8, 2, 2, 2, 1, 1, 1, 128, 0, 0), TILE_ERROR_ARGUMENT, "zero_point_A is 128");
    FAILS(solve_int8_quantized_matmul(q, q, q + 8, 2, 2, 2, 1, 1, 1, 0, -129, 0), TILE_ERROR_ARGUMENT, "zero_point_B is -129");
    FAILS(solve_int8_quantized_matmul(q, q, q + 8, 2, 2, 2, 1, 1, 1, 0, 0, INT_MAX), TILE_ERROR_ARGUMENT, "zero_point_C is");

    /* Scales of which a product may be a NaN. */
    FAILS(solve_int8_quantized_matmul(q, q, q + 8, 2, 2, 2, 0, 1, 1, 0, 0, 0), TILE_ERROR_ARGUMENT, "scale_a is 0");
    FAILS(solve_int8_quantized_matmul(q, q, q + 8, 2, 2, 2, 1, NAN, 1, 0, 0, 0), TILE_ERROR_ARGUMENT, "scale_b is NaN");
    FAILS(solve_int8_quantized_matmul(q, q, q + 8, 2, 2, 2, 1, 1, INFINITY, 0, 0, 0), TILE_ERROR_ARGUMENT, "scale_c is inf");
    FAILS(solve_int8_quantized_matmul(q, q, q + 8, 2, 2, 2, 1, 1, 1e-39f, 0, 0, 0), TILE_ERROR_ARGUMENT, "reciprocal");

    /* Overlaps. */
    FAILS(solve_relu(x, x + 1, 8), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_vector_add(x, y, y + 1, 8), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_softmax(x, x, 8), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_matrix_transpose(x, x, 2, 4), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_1d_convolution(x, y, x, 8, 3), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_reduction(x, x + 3, 8), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_count_array_element(i, i, 8, 1), TILE_ERROR_OVERLAP, "overlap");
    FAILS(tile_softmax_rows(x, x, 2, 4), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_matrix_multiplication(x, y, x, 2, 2, 2), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_gemm(h, h + 8, h + 10, 2, 2, 2, 1, 1), TILE_ERROR_OVERLAP, "overlap");
    FAILS(tile_matmul(3, 0, 0, 0, image, image + 8, image + 4, 2, 2, 2), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_int8_quantized_matmul(q, q + 8, q + 7, 2, 2, 2, 1, 1, 1, 0, 0, 0), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_fp16_dot_product(h, h + 8, h + 11, 4), TILE_ERROR_OVERLAP, "overlap");
    FAILS(tile_batched_matmul(1, h, h + 8, h + 7, 2, 2, 2, 2), TILE_ERROR_OVERLAP, "overlap");
    FAILS(tile_grouped_matmul(1, 0, h, h + 8, i, i, 2, 2, 2, 2), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_1d_convolution(x, x + 32, y, 3, 8), TILE_ERROR_ARGUMENT, "taps");
    FAILS(solve_2d_convolution(x, x + 8, y, 2, 2, 3, 1), TILE_ERROR_ARGUMENT, "taps");
    FAILS(solve_swiglu(x, y, 7), TILE_ERROR_ARGUMENT, "odd");
    FAILS(solve_swiglu(x, x + 2, 8), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_rope_embedding(x, x, x, y, 2, 3), TILE_ERROR_ARGUMENT, "halves");
    FAILS(solve_weight_dequantization(x, x, y, 2, 2, 0), TILE_ERROR_ARGUMENT, "TILE_SIZE");
    FAILS(solve_weight_dequantization(x, y, y, 2, 2, 1), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_subarray_sum(i, c, 8, 3, 8), TILE_ERROR_ARGUMENT, "E is 8");
    FAILS(solve_subarray_sum(i, c, 8, 3, 1), TILE_ERROR_ARGUMENT, "S is 3");
    FAILS(solve_subarray_sum(i, i, 8, 3, 4), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_2d_subarray_sum(i, c, 2, 4, 0, 2, 0, 1), TILE_ERROR_ARGUMENT, "E_ROW is 2");
    FAILS(solve_3d_subarray_sum(i, c, 2, 2, 2, 0, 1, 0, 1, -1, 1), TILE_ERROR_ARGUMENT, "S_COL is -1");
    FAILS(solve_group_normalization(x, x, x, y, 1, 3, 2, 1, 2, 0), TILE_ERROR_ARGUMENT, "groups");
    FAILS(solve_layer_normalization(x, x, x, x, 2, 2, 0), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_moe_topk_gating(x, y, c, 1, 2, 3), TILE_ERROR_ARGUMENT, "experts");
    FAILS(solve_moe_topk_gating(x, y, (int *)y, 1, 2, 1), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_int8_kv_cache_attention(x, q, q, x, x, y, 1, 1, 1025), TILE_ERROR_ARGUMENT, "head_dim");
    FAILS(solve_2d_max_pooling(x, y, 1, 1, 2, 2, 3, 1, 0), TILE_ERROR_ARGUMENT, "window");
    FAILS(solve_2d_max_pooling(x, y, 1, 1, 2, 2, 1, 0, 0), TILE_ERROR_ARGUMENT, "window");
    FAILS(solve_prefix_sum(x, x + 3, 8), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_max_subarray_sum(i, c, 8, 9), TILE_ERROR_ARGUMENT, "window_size is 9");
    FAILS(solve_max_subarray_sum(i, c, 8, -1), TILE_ERROR_ARGUMENT, "window_size is -1");
    FAILS(solve_sorting(NULL, 3), TILE_ERROR_ARGUMENT, "data is a null");
    FAILS(solve_top_k_selection(x, y, 2, 3), TILE_ERROR_ARGUMENT, "k is 3");
    FAILS(solve_parallel_merge(x, y, x, 2, 2), TILE_ERROR_OVERLAP, "overlap");
    FAILS(solve_categorical_cross_entropy_loss(x, NULL, y, 1, 4), TILE_ERROR_ARGUMENT, "true_labels is a null");
    FAILS(solve_dot_product(x, x, x + 1, 4), TILE_ERROR_OVERLAP, "overlap");

    /* A length of zero touches nothing. */
    CHECK(solve_vector_add(NULL, NULL, NULL, 0) == TILE_OK);
    CHECK(solve_relu(NULL, NULL, 0) == TILE_OK);
    CHECK(solve_matrix_transpose(NULL, NULL, 0, 7) == TILE_OK);
    CHECK(solve_softmax(NULL, NULL, 0) == TILE_OK);
    CHECK(solve_color_inversion(NULL, 7, 0) == TILE_OK);
    CHECK(solve_1d_convolution(NULL, NULL, NULL, 0, 0) == TILE_OK);
    CHECK(solve_1d_convolution(NULL, x, NULL, 0, 5) == TILE_OK);
    CHECK(solve_reverse_array(NULL, 0) == TILE_OK);
    CHECK(solve_rainbow_table(NULL, NULL, 0, 5) == TILE_OK);
    CHECK(solve_matrix_copy(NULL, NULL, 0) == TILE_OK);
    CHECK(solve_reduction(NULL, NULL, 0) == TILE_OK);
    CHECK(solve_count_array_element(NULL, NULL, 0, 5) == TILE_OK);
    CHECK(tile_softmax_rows(NULL, NULL, 0, LLONG_MAX) == TILE_OK);
    CHECK(tile_gelu(2, NULL, NULL, 0) == TILE_OK);
    CHECK(solve_matrix_multiplication(NULL, NULL, NULL, 0, 5, 5) == TILE_OK);
    CHECK(solve_gemm(NULL, NULL, NULL, 5, 0, 5, 1, 1) == TILE_OK);
    CHECK(tile_matmul(4, 0, 1, 1, NULL, NULL, NULL, LLONG_MAX, 0, LLONG_MAX) == TILE_OK);
    CHECK(solve_int8_quantized_matmul(NULL, NULL, NULL, 0, 5, 5, 1, 1, 1, 0, 0, 0) == TILE_OK);
    CHECK(solve_fp16_dot_product(NULL, NULL, NULL, 0) == TILE_OK);
    CHECK(solve_batched_matrix_multiplication(NULL, NULL, NULL, 0, 5, 5, 5) == TILE_OK);
    CHECK(solve_fp16_batched_matmul(NULL, NULL, NULL, 5, 5, 0, 5) == TILE_OK);
    CHECK(tile_batched_matmul(0, NULL, NULL, NULL, LLONG_MAX, LLONG_MAX, 0, LLONG_MAX) == TILE_OK);
    CHECK(tile_grouped_matmul(1, 0, NULL, NULL, NULL, NULL, LLONG_MAX, LLONG_MAX, 0, LLONG_MAX) == TILE_OK);
    CHECK(tile_grouped_matmul(2, 1, NULL, NULL, NULL, NULL, 0, 5, 5, 5) == TILE_OK);
    CHECK(tile_set_stream(NULL) == TILE_OK);
    for (int k = 0; k < 64; k++) CHECK(x[k] == 0 && y[k] == 0 && i[k] == 0 && u[k] == 0 && h[k] == 0 && q[k] == 0);
}

static void no_device(void) {
    static float x[8], y[8] = {1, 2, 3};
    FAILS(solve_relu(x, y, 8), TILE_ERROR_NO_DEVICE, "CUDA");
    FAILS(solve_reduction(x, y, 8), TILE_ERROR_NO_DEVICE, "CUDA");
    tile_handle_t handle = (tile_handle_t)x;
    FAILS(tile_create(&handle), TILE_ERROR_NO_DEVICE, "CUDA");
    CHECK(handle == NULL);
    CHECK(y[0] == 1 && y[1] == 2 && y[2] == 3);
}

enum { N = 1000 };

#define NEAR(x, y) CHECK(fabsf((x) - (float)(y)) < 1e-5f * (1 + fabsf((float)(y))))

/* One result of each challenge operation, by hand. */
static void challenges(const float *a, const float *b, float *c) {
    static const float x[8] = {1, 2, 3, 4, 5, 6, 7, 9}, w[4] = {1, 2, -1, 0.5f}, zeros[8], ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    static const int i[8] = {5, 1, 5, 2, -7, 5, 0, 3};
    int n[2] = {0, 0};

    CHECK(solve_matrix_addition(a, b, c, 31) == TILE_OK && c[960] == a[960] + b[960]);
    CHECK(solve_sigmoid(x, c, 8) == TILE_OK);
    NEAR(c[1], 0.880797f);
    CHECK(solve_silu(x, c, 8) == TILE_OK);
    NEAR(c[1], 1.761594f);
    memcpy(c, x, sizeof x);
    CHECK(solve_value_clipping(c, c, 2.5f, 6.5f, 8) == TILE_OK && c[0] == 2.5f && c[3] == 4 && c[7] == 6.5f); /* in place */
    CHECK(solve_swiglu(x, c, 8) == TILE_OK);
    NEAR(c[1], 1.761594f * 6);
    CHECK(solve_geglu(x, c, 2) == TILE_OK);
    NEAR(c[0], 1.9545f);
    CHECK(solve_interleave(x, w, c, 4) == TILE_OK && c[0] == 1 && c[1] == 1 && c[6] == 4 && c[7] == 0.5f);
    CHECK(solve_rgb_to_grayscale(x, c, 1, 2) == TILE_OK);
    NEAR(c[1], 0.299f * 4 + 0.587f * 5 + 0.114f * 6);
    CHECK(solve_rope_embedding(x, ones, ones, c, 2, 4) == TILE_OK && c[0] == 1 - 3 && c[6] == 7 + 5);
    CHECK(solve_weight_dequantization(x, w, c, 2, 4, 2) == TILE_OK && c[1] == 2 && c[2] == 6 && c[7] == 18);

    CHECK(solve_dot_product(x, w, c, 4) == TILE_OK && c[0] == 4);
    CHECK(solve_monte_carlo_integration(x, c, 0, 2, 4) == TILE_OK && c[0] == 5);
    CHECK(solve_count_3d_array_element(i, n, 2, 2, 2, 5) == TILE_OK && n[0] == 3);
    CHECK(solve_subarray_sum(i, n, 8, 1, 4) == TILE_OK && n[0] == 1);
    CHECK(solve_2d_subarray_sum(i, n, 2, 4, 0, 1, 1, 2) == TILE_OK && n[0] == 11);
    CHECK(solve_3d_subarray_sum(i, n, 2, 2, 2, 1, 1, 0, 1, 1, 1) == TILE_OK && n[0] == 8 && n[1] == 0);
    CHECK(solve_mean_squared_error(x, w, c, 4) == TILE_OK);
    NEAR(c[0], (0 + 0 + 16 + 12.25f) / 4);
    CHECK(solve_categorical_cross_entropy_loss(zeros, i + 6, c, 2, 4) == TILE_OK);
    NEAR(c[0], logf(4));
    CHECK(solve_ppo_clipped_surrogate_loss(w, zeros, zeros, c, 0.2f, 2, 2) == TILE_OK && c[0] == -0.625f);
    CHECK(solve_dpo_sequence_loss(x, x, w, w, c, 0.1f, 4) == TILE_OK);
    NEAR(c[0], logf(2));
    CHECK(solve_grpo_surrogate_loss(x, w, w, w, c, 0.2f, 0.1f, 1, 2, 2) == TILE_OK);
    NEAR(c[0], 0);

    CHECK(solve_rms_normalization(w, 2, 1, c, 4, 0) == TILE_OK);
    NEAR(c[0], 1 + 2 / sqrtf(1.5625f));
    CHECK(solve_batch_normalization(x, ones, zeros, c, 2, 4, 0) == TILE_OK);
    NEAR(c[0], -1);
    CHECK(solve_layer_normalization(x, ones, ones, c, 4, 2, 0) == TILE_OK);
    NEAR(c[7], 2);
    CHECK(solve_fused_residual_add_rms_norm(x, ones, ones, c, 4, 2, 0) == TILE_OK);
    NEAR(c[0], 2 / sqrtf(6.5f));
    CHECK(solve_group_normalization(x, ones, ones, c, 1, 4, 1, 2, 4, 0) == TILE_OK);
    NEAR(c[7], 2);
    CHECK(solve_token_embedding_layer(i + 1, i + 6, x, w, ones, ones, c, 1, 1, 4, 2, 2, 0) == TILE_OK);
    NEAR(c[0], 0); /* {3, 4} and {1, 2} */

    CHECK(solve_sparse_matrix_vector_multiplication(x, w, c, 2, 4, 8) == TILE_OK && c[0] == 4 && c[1] == 14.5f);
    CHECK(solve_moe_topk_gating(zeros, c, n, 1, 8, 2) == TILE_OK && c[0] == 0.5f && n[0] == 0 && n[1] == 1);
    CHECK(solve_nearest_neighbor(x, n, 2) == TILE_OK && n[0] == 1 && n[1] == 0);
    CHECK(solve_multi_agent_sim(x, c, 2) == TILE_OK && c[0] == 1 + 3 && c[2] == 3);
    signed char k[4] = {1, 2, 3, 4};
    CHECK(solve_int8_kv_cache_attention(zeros, k, k, ones, ones, c, 1, 2, 2) == TILE_OK && c[0] == 2 && c[1] == 3);

    CHECK(solve_2d_convolution(x, w, c, 2, 4, 2, 2) == TILE_OK && c[0] == 1 + 4 - 5 + 3);
    CHECK(solve_3d_convolution(x, w, c, 2, 2, 2, 2, 1, 1) == TILE_OK && c[0] == 1 + 10 && c[3] == 4 + 18);
    CHECK(solve_gaussian_blur(x, ones, c, 2, 4, 1, 3) == TILE_OK && c[0] == 3 && c[5] == 18);
    CHECK(solve_2d_max_pooling(x, c, 1, 2, 2, 2, 2, 1, 1) == TILE_OK && c[0] == 1 && c[4] == 4 && c[17] == 9);
    CHECK(solve_jacobi_stencil_2d(a, c, 3, 3) == TILE_OK && c[0] == a[0] && c[4] == 0.25f * (a[1] + a[3] + a[5] + a[7]));
    CHECK(solve_prefix_sum(x, c, 8) == TILE_OK && c[0] == 1 && c[7] == 37);
    CHECK(solve_segmented_prefix_sum(x, i, c, 8) == TILE_OK && c[5] == 0 && c[6] == 6 && c[7] == 0);
    CHECK(solve_stream_compaction(w, 4, c) == TILE_OK && c[1] == 2 && c[2] == 0.5f && c[3] == 0);
    CHECK(solve_max_subarray_sum(i, n, 8, 3) == TILE_OK && n[0] == 11 && n[1] == 0);
    CHECK(solve_linear_recurrence(w, x, c, 1, 4) == TILE_OK && c[1] == 4 && c[2] == -1 && c[3] == 3.5f);
    CHECK(solve_gae_reverse_scan(x, w, c, 0.5f, 0.5f, 2, 2) == TILE_OK && c[1] == 0 && c[0] == 1 && c[3] == 3.5f);
    CHECK(solve_ssm_selective_scan(x, ones, zeros, w, ones, ones, c, 1, 2, 1, 1) == TILE_OK && c[0] == 2 && c[1] == 7);
    int bins[3] = {9, 9, 9}, keys[4] = {7, 0, 70000, 7};
    unsigned sorted[4];
    CHECK(solve_histogramming(i, bins, 8, 3) == TILE_OK && bins[0] == 1 && bins[1] == 1 && bins[2] == 1);
    memcpy(c, w, sizeof w);
    CHECK(solve_sorting(c, 4) == TILE_OK && c[0] == -1 && c[1] == 0.5f && c[3] == 2);
    CHECK(solve_radix_sort((const unsigned *)keys, sorted, 4) == TILE_OK && sorted[0] == 0 && sorted[2] == 7 && sorted[3] == 70000);
    CHECK(solve_top_k_selection(w, c, 4, 2) == TILE_OK && c[0] == 2 && c[1] == 1);
    CHECK(solve_parallel_merge(x, x + 4, c, 4, 4) == TILE_OK && c[3] == 4 && c[7] == 9);
    CHECK(solve_causal_depthwise_conv1d(x, w, zeros, c, 1, 4, 2, 2) == TILE_OK && c[0] == 1 && c[2] == 3 + 2 && c[3] == -4 + 1);
}

static void results(void) {
    static float a[N + 1], b[N], c[N];
    static int i[N], n;
    static unsigned u[N];
    for (int k = 0; k < N; k++) { a[k] = (float)(k % 37) - 18; b[k] = 0.5f * (float)k; i[k] = k % 10; }

    CHECK(solve_vector_add(a, b, c, N) == TILE_OK);
    for (int k = 0; k < N; k++) CHECK(c[k] == a[k] + b[k]);
    tile_handle_t handle;
    CHECK(tile_create(&handle) == TILE_OK);
    CHECK(tile_handle_vector_add(handle, TILE_DTYPE_F32, a, a, c, N) == TILE_OK);
    for (int k = 0; k < N; k++) CHECK(c[k] == a[k] + a[k]);
    CHECK(tile_handle_matmul(handle, TILE_DTYPE_F32, TILE_PRECISION_F32, 0, 1, a, b, c, 1, 1, 3) == TILE_OK);
    CHECK(c[0] == a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
    CHECK(strcmp(tile_handle_last_error(handle), "") == 0);
    CHECK(tile_handle_gelu(handle, TILE_DTYPE_I8, a, c, N) == TILE_ERROR_ARGUMENT);
    CHECK(strstr(tile_handle_last_error(handle), "dtype is 3") != NULL);
    CHECK(tile_destroy(handle) == TILE_OK);
    CHECK(solve_relu(a, c, N) == TILE_OK);
    for (int k = 0; k < N; k++) CHECK(c[k] == (a[k] < 0 ? 0 : a[k]));
    memcpy(c, a, sizeof c);
    CHECK(solve_leaky_relu(c, c, N) == TILE_OK); /* in place */
    for (int k = 0; k < N; k++) CHECK(fabsf(c[k] - (a[k] < 0 ? 0.01f * a[k] : a[k])) < 1e-6f);
    CHECK(solve_gelu(a, c, N) == TILE_OK);
    for (int k = 0; k < N; k++) CHECK(fabsf(c[k] - 0.5f * a[k] * (1 + tanhf(0.79788456f * (a[k] + 0.044715f * a[k] * a[k] * a[k])))) < 1e-5f);
    CHECK(solve_matrix_transpose(a, c, 25, 40) == TILE_OK);
    for (int k = 0; k < N; k++) CHECK(c[k % 40 * 25 + k / 40] == a[k]);
    CHECK(solve_matrix_copy(a, c, 31) == TILE_OK);
    CHECK(solve_matrix_copy(c, c, 31) == TILE_OK); /* in place */
    CHECK(memcmp(a, c, 31 * 31 * sizeof *a) == 0);
    memcpy(c, a, sizeof c);
    CHECK(solve_reverse_array(c, N) == TILE_OK);
    for (int k = 0; k < N; k++) CHECK(c[k] == a[N - 1 - k]);

    float sum = 0;
    CHECK(solve_reduction(b, c, N) == TILE_OK);
    CHECK(fabsf(c[0] - 249750.0f) < 1);
    c[0] = 7;
    CHECK(solve_reduction(b, c, 0) == TILE_OK);
    CHECK(c[0] == 0);
    CHECK(solve_count_array_element(i, &n, N, 3) == TILE_OK && n == 100);
    CHECK(solve_count_2d_array_element(i, &n, 10, 50, 3) == TILE_OK && n == 50);
    CHECK(solve_softmax(a, c, N) == TILE_OK);
    for (int k = 0; k < N; k++) sum += c[k];
    CHECK(fabsf(sum - 1) < 1e-4f && c[36] > c[35]);
    CHECK(tile_softmax_rows(a, c, 10, 100) == TILE_OK);
    for (int r = 0; r < 10; r++) {
        sum = 0;
        for (int k = 0; k < 100; k++) sum += c[100 * r + k];
        CHECK(fabsf(sum - 1) < 1e-4f);
    }
    float taps[3] = {1, -2, 0.5f};
    CHECK(solve_1d_convolution(a, taps, c, N, 3) == TILE_OK);
    for (int k = 0; k + 2 < N; k++) CHECK(fabsf(c[k] - (a[k] - 2 * a[k + 1] + 0.5f * a[k + 2])) < 1e-4f);

    CHECK(solve_rainbow_table(i, u, N, 1) == TILE_OK);
    CHECK(u[0] == 0x4b95f515u);
    unsigned char *image = (unsigned char *)malloc(4 * N + 1); /* at an odd address: only bytes are promised */
    for (int k = 0; k < 4 * N; k++) image[k + 1] = (unsigned char)k;
    CHECK(solve_color_inversion(image + 1, 25, 40) == TILE_OK);
    for (int k = 0; k < 4 * N; k++) CHECK(image[k + 1] == (k % 4 == 3 ? (unsigned char)k : (unsigned char)(255 - (unsigned char)k)));
    free(image);

    challenges(a, b, c);

    /* f16 and bf16 by their bits: 1 + 2, and relu of -1. */
    uint16_t one[2] = {0x3c00, 0x3c00}, two[2] = {0x4000, 0xbc00}, out[2];
    CHECK(tile_vector_add(1, one, two, out, 2) == TILE_OK && out[0] == 0x4200 && out[1] == 0);
    uint16_t minus[2] = {0xbf80, 0x3f80};
    CHECK(tile_relu(2, minus, out, 2) == TILE_OK && out[0] == 0 && out[1] == 0x3f80);
    CHECK(tile_leaky_relu(0, a, c, 4) == TILE_OK && tile_gelu(0, a, c, 4) == TILE_OK);

    /* Products of 4 x 6 and 6 x 5; sums of nothing. */
    CHECK(solve_matrix_multiplication(a, b, c, 4, 6, 5) == TILE_OK);
    for (int k = 0; k < 20; k++) {
        float want = 0;
        for (int l = 0; l < 6; l++) want += a[k / 5 * 6 + l] * b[l * 5 + k % 5];
        CHECK(fabsf(c[k] - want) < 1e-3f);
    }
    CHECK(tile_matmul_leaky_relu(0, 1, 0, 0, a, b, c, 1, 1, 6) == TILE_OK && fabsf(c[0] - 0.01f * -107.5f) < 1e-3f);
    CHECK(tile_matmul(0, 0, 0, 0, NULL, NULL, c, 2, 2, 0) == TILE_OK && c[0] == 0 && c[3] == 0);
    uint16_t eye[4] = {0x3c00, 0, 0, 0x3c00}, two_by_two[4] = {0x3c00, 0x4000, 0x4200, 0x4400}, sum_c[4] = {0x3c00, 0x3c00, 0x3c00, 0x3c00};
    CHECK(solve_gemm(eye, two_by_two, sum_c, 2, 2, 2, 2, 1) == TILE_OK); /* 2 B + 1 */
    CHECK(sum_c[0] == 0x4200 && sum_c[1] == 0x4500 && sum_c[2] == 0x4700 && sum_c[3] == 0x4880);
    CHECK(solve_gemm(NULL, NULL, sum_c, 2, 2, 0, INFINITY, 0.5f) == TILE_OK && sum_c[0] == 0x3e00);

    /* Quantized: (A - 1)(B + 2) / 4, ties to even, - 3, saturated; sums of nothing are the zero point. */
    int8_t qa[6] = {2, 1, 0, 127, -128, 3}, qb[6] = {0, 100, 5, -2, -1, 4}, qc[4];
    CHECK(solve_int8_quantized_matmul(qa, qb, qc, 2, 2, 3, 0.5f, 1, 2, 1, -2, -3) == TILE_OK);
    CHECK(qc[0] == -3 && qc[1] == 21 && qc[2] == -128 && qc[3] == 127);
    CHECK(solve_int8_quantized_matmul(NULL, NULL, qc, 2, 2, 0, 1, 1, 1, 5, 6, 7) == TILE_OK && qc[0] == 7 && qc[3] == 7);

    /* 1 * 2 - 1 * 1, 2^-24 * 1; of nothing 0. */
    uint16_t ones[3] = {0x3c00, 0xbc00, 1}, others[3] = {0x4000, 0x3c00, 0x3c00}, dot[2] = {7, 7};
    CHECK(solve_fp16_dot_product(ones, others, dot, 2) == TILE_OK && dot[0] == 0x3c00 && dot[1] == 7);
    CHECK(solve_fp16_dot_product(ones + 2, others + 2, dot, 1) == TILE_OK && dot[0] == 1);
    CHECK(solve_fp16_dot_product(NULL, NULL, dot, 0) == TILE_OK && dot[0] == 0);

    /* Three products of 4 x 6 and 6 x 5; the identity and its negative times a matrix, of f16. */
    CHECK(solve_batched_matrix_multiplication(a, b, c, 3, 4, 5, 6) == TILE_OK);
    for (int k = 0; k < 60; k++) {
        float want = 0;
        for (int l = 0; l < 6; l++) want += a[k / 5 * 6 + l] * b[k / 20 * 30 + l * 5 + k % 5];
        CHECK(fabsf(c[k] - want) < 1e-3f);
    }
    uint16_t signs[8] = {0x3c00, 0, 0, 0x3c00, 0xbc00, 0, 0, 0xbc00}, batch[8] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x3c00, 0x4000, 0x4200, 0x4400}, out8[8];
    CHECK(solve_fp16_batched_matmul(signs, batch, out8, 2, 2, 2, 2) == TILE_OK);
    for (int k = 0; k < 8; k++) CHECK(out8[k] == (k < 4 ? batch[k] : (batch[k] | 0x8000)));
    CHECK(tile_batched_matmul(1, NULL, NULL, out8, 2, 2, 2, 0) == TILE_OK && out8[0] == 0 && out8[7] == 0);
}

/* With TILE_BACKEND=nonsense. */
static void unknown_backend(void) {
    float x[4] = {-1, 0, 1, 2}, y[4];
    CHECK(tile_relu(0, x, y, 4) == TILE_ERROR_ARGUMENT && strstr(tile_last_error(), "nonsense") != NULL);
    CHECK(tile_relu(0, x, y, 4) == TILE_ERROR_ARGUMENT);
}

enum { LARGE = 1 << 20 };

/* Enough work for all threads. */
static int large_sum(void) {
    static float a[LARGE], b[LARGE], c[LARGE];
    for (int k = 0; k < LARGE; k++) { a[k] = (float)(k % 100); b[k] = 1; }
    int code = solve_vector_add(a, b, c, LARGE);
    for (int k = 0; k < LARGE && code == TILE_OK; k++) CHECK(c[k] == a[k] + 1);
    return code;
}

static void *on_a_small_stack(void *unused) {
    float x[4] = {-1, 0, 1, 2}, y[4];
    FAILS(tile_relu(0, x, NULL, 4), TILE_ERROR_ARGUMENT, "null");
    CHECK(tile_relu(0, x, y, 4) == TILE_OK && y[0] == 0 && y[3] == 2);
    CHECK(large_sum() == TILE_OK);
    CHECK(solve_softmax(x, y, 4) == TILE_OK && y[3] > y[2]);
    return unused;
}

/* The smallest stacks that threads can have. */
static void small_stack(void) {
    for (int k = 0; k < 20; k++) {
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        CHECK(pthread_attr_setstacksize(&attributes, 16384) == 0);
        CHECK(pthread_create(&thread, &attributes, on_a_small_stack, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        pthread_attr_destroy(&attributes);
    }
}

/* Leaves the process this much more address space than it has now. */
static void limit_memory(size_t bytes) {
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL && fscanf(f, "%lu", &pages) == 1);
    if (f != NULL) fclose(f);
    struct rlimit limit = {pages * (size_t)sysconf(_SC_PAGESIZE) + bytes, RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* Without room for the stack of a thread: with a warning, on the calling thread. */
static void few_threads(void) {
    limit_memory(1 << 20);
    CHECK(large_sum() == TILE_OK);
}

/* No tile of a product fits. */
static void no_memory(void) {
    static float a[512 * 512], b[512 * 512], c[512 * 512];
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    CHECK(large_sum() == TILE_OK);
    CHECK(solve_matrix_multiplication(a, b, c, 1, 1, 1) == TILE_OK);
    limit_memory(0);
    int code = solve_matrix_multiplication(a, b, c, 512, 512, 512);
    CHECK(setrlimit(RLIMIT_AS, &all) == 0);
    CHECK(code == TILE_ERROR_MEMORY && strstr(tile_last_error(), "out of memory") != NULL);
    CHECK(solve_matrix_multiplication(a, b, c, 512, 512, 512) == TILE_OK);
}

/* Arguments are checked, nothing is computed. */
static void prepare(void) {
    float x[4] = {-1, 0, 1, 2}, y[4] = {7, 7, 7, 7};
    FAILS(tile_prepare(2), TILE_ERROR_ARGUMENT, "on is 2");
    CHECK(tile_prepare(1) == TILE_OK);
    FAILS(tile_relu(0, x, NULL, 4), TILE_ERROR_ARGUMENT, "null");
    CHECK(tile_relu(0, x, y, 4) == TILE_OK && tile_softmax_rows(x, y, 2, 2) == TILE_OK && solve_reduction(x, y, 4) == TILE_OK);
    CHECK(solve_matrix_multiplication(x, x, y, 2, 2, 2) == TILE_OK && y[0] == 7 && y[3] == 7);
    CHECK(tile_prepare(0) == TILE_OK && tile_relu(0, x, y, 4) == TILE_OK && y[0] == 0 && y[3] == 2);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "errors") == 0) errors();
    else if (strcmp(mode, "no-device") == 0) no_device();
    else if (strcmp(mode, "results") == 0) results();
    else if (strcmp(mode, "unknown-backend") == 0) unknown_backend();
    else if (strcmp(mode, "small-stack") == 0) small_stack();
    else if (strcmp(mode, "few-threads") == 0) few_threads();
    else if (strcmp(mode, "no-memory") == 0) no_memory();
    else if (strcmp(mode, "prepare") == 0) prepare();
    else return 2;
    return failures != 0;
}
