/* Every large allocation of the C library on the CPU fails in turn, on whichever thread it is: buffers, scratch memory
 * and tiles. The call returns TILE_ERROR_MEMORY, or does without that memory, and the same call is right afterwards.
 * Each failure has a process of its own, since later calls use memory that earlier ones have allocated. Exit status 0
 * when all holds. */
#define _GNU_SOURCE
#include "tile.h"
#include "tile_challenges.h"
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bytes from which an allocation is one of arrays or tiles. Smaller ones, as of messages, end the process. */
#define LARGE (32 << 10)

/* Large allocations until the one that fails; negative: none fails. */
static atomic_long left = -1;

static int fails(size_t bytes) {
    if (bytes < LARGE || atomic_load(&left) < 0 || atomic_fetch_sub(&left, 1) != 0) return 0;
    errno = ENOMEM;
    return 1;
}

/* The functions of the C library of the system, which these stand before. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes) { return fails(bytes) ? NULL : __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return fails(count * bytes) ? NULL : __libc_calloc(count, bytes); }
void *realloc(void *p, size_t bytes) { return fails(bytes) ? NULL : __libc_realloc(p, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return fails(bytes) ? NULL : __libc_memalign(alignment, bytes); }
void *memalign(size_t alignment, size_t bytes) { return fails(bytes) ? NULL : __libc_memalign(alignment, bytes); }
int posix_memalign(void **p, size_t alignment, size_t bytes) {
    if (fails(bytes)) return ENOMEM;
    *p = __libc_memalign(alignment, bytes);
    return *p == NULL ? ENOMEM : 0;
}

enum { N = 300 * 300 };
static float a[N], b[N], c[N], d[N], w[N], dw[N], db[N];
static int ids[N], bins[N];
static uint16_t h[N], g[N], o[N];

static int matmul(void) { return tile_matmul(0, 0, 0, 0, a, b, c, 300, 300, 300); }
static int matmul_tt(void) { return tile_matmul(0, 2, 1, 1, a, b, c, 300, 299, 300); }
static int matmul_f16(void) { return tile_matmul(1, 0, 0, 0, h, g, o, 299, 299, 299); }
static int batched(void) { return tile_batched_matmul(0, a, b, c, 10, 90, 90, 90); }
static int attention(void) { return tile_attention(1, h, g, h, o, 2, 2, 200, 200, 64, 0.125f, 1); }
static int softmax_rows(void) { return tile_softmax_rows(a, c, 30, 3000); }
static int softmax(void) { return solve_softmax(a, c, N); }
static int reduction(void) { return solve_reduction(a, c, N); }
static int prefix_sum(void) { return solve_prefix_sum(a, c, N); }
static int top_k(void) { return solve_top_k_selection(a, c, N, 1000); }
static int sorting(void) { memcpy(c, a, sizeof c); return solve_sorting(c, N); }
static int layer_norm(void) { return tile_layer_norm(0, a, w, b, c, 30, 3000, 1e-5f); }
static int layer_norm_backward(void) { return tile_layer_norm_backward(0, a, w, b, c, dw, db, 30, 3000, 1e-5f); }
static int rms_norm_backward(void) { return tile_rms_norm_backward(0, a, w, b, c, dw, 30, 3000, 1e-5f); }
static int cross_entropy(void) { return tile_cross_entropy(0, a, ids, c, d, 30, 3000); }
static int embedding(void) { return tile_embedding(0, a, ids, c, 30, 30, 3000); }
static int histogram(void) { return solve_histogramming(ids, bins, N, 30); }

static const struct { const char *name; int (*run)(void); } WORK[] = {
    {"matmul", matmul}, {"matmul_tt", matmul_tt}, {"matmul_f16", matmul_f16}, {"batched_matmul", batched},
    {"attention", attention}, {"softmax_rows", softmax_rows}, {"softmax", softmax}, {"reduction", reduction},
    {"prefix_sum", prefix_sum}, {"top_k", top_k}, {"sorting", sorting}, {"layer_norm", layer_norm},
    {"layer_norm_backward", layer_norm_backward}, {"rms_norm_backward", rms_norm_backward},
    {"cross_entropy", cross_entropy}, {"embedding", embedding}, {"histogram", histogram},
};

/* How a process ends. */
enum { DID_NOT_COME = 0, CAME = 1, WRONG = 2 };

/* Runs the work with this allocation failing, and once more without. `right` is the result. */
static int with_failure(size_t i, long n, const float *right) {
    atomic_store(&left, n);
    int code = WORK[i].run();
    int came = atomic_exchange(&left, -1) < 0, wrong = 0;
    if (code != TILE_OK && (!came || code != TILE_ERROR_MEMORY || strstr(tile_last_error(), "out of memory") == NULL)) {
        wrong = 1;
        fprintf(stderr, "%s, allocation %ld: code %d, %s\n", WORK[i].name, n, code, tile_last_error());
    }
    memset(c, 0, sizeof c);
    code = WORK[i].run();
    int same = code == TILE_OK;
    for (int j = 0; j < N && same; j++) same = fabsf(c[j] - right[j]) <= 1e-4f * (1 + fabsf(right[j]));
    if (!same) fprintf(stderr, "%s after allocation %ld failed: code %d\n", WORK[i].name, n, code);
    return wrong || !same ? WRONG : came ? CAME : DID_NOT_COME;
}

int main(void) {
    size_t bytes = sizeof c;
    float *right = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (right == MAP_FAILED) return 1;
    for (int i = 0; i < N; i++) {
        a[i] = (float)(i % 1009 * 7919 % 1000) / 500 - 1;
        b[i] = (float)(i % 1013 * 1511 % 1000) / 500 - 1;
        w[i] = 1;
        ids[i] = i * 31 % 30;
        h[i] = (uint16_t)(0x3800 + i % 512);
        g[i] = (uint16_t)(0xb800 - i % 512);
    }
    long all = 0;
    for (size_t i = 0; i < sizeof WORK / sizeof *WORK; i++) {
        long n = -1;
        for (;; n++) {
            pid_t child = fork();
            if (child == 0) {
                /* What the library sets up at a first call is no array. */
                if (tile_relu(0, a, dw, N) != TILE_OK) _exit(WRONG);
                if (n >= 0) _exit(with_failure(i, n, right));
                int code = WORK[i].run();
                memcpy(right, c, bytes);
                _exit(code == TILE_OK ? CAME : WRONG);
            }
            int status = 0;
            if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) == WRONG) {
                fprintf(stderr, "%s, allocation %ld: the process ended with %#x\n", WORK[i].name, n, status);
                return 1;
            }
            if (WEXITSTATUS(status) == DID_NOT_COME) break;
        }
        printf("%s: %ld allocations failed\n", WORK[i].name, n);
        all += n;
    }
    printf("%ld allocations failed in all\n", all);
    return all == 0;
}
