// A CUDA driver without a device, for tests of the host side: memory is the host's, streams do their work at once, and
// the kernels it knows add a number, found in their PTX, to each element. Calls that a real driver would refuse are
// refused, and what is allocated is counted (`cuda_fake_count`).
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <time.h>

typedef int R;
typedef unsigned long long u64;
enum { OK = 0, INVALID_VALUE = 1, OOM = 2, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, INVALID_PTX = 218, NOT_FOUND = 500, CAPTURE_UNSUPPORTED = 900 };

typedef struct Node { void *k; u64 slots[7], map[16]; unsigned threads, grid; struct Node *next; } Node;
typedef struct { Node *first, *last; } Graph;
typedef struct { int capturing, broken; Graph *graph; } Stream;
typedef struct { struct timespec at; } Event;
typedef struct { char *ptx; } Library;
typedef struct { float add; unsigned max_shared; char name[64]; } Kernel;
typedef struct Block { u64 ptr, bytes; struct Block *next; } Block;

static int context_object;
static Stream null_stream;
static __thread void *current;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Block *blocks;
static long live_streams, live_events, live_graphs, live_execs, calls_bad, early_launches;

#define CTX() do { if (current != &context_object) return INVALID_CONTEXT; } while (0)
static Stream *st(void *s) { return s ? s : &null_stream; }

R cuInit(unsigned f) { return OK; }
R cuDriverGetVersion(int *v) { *v = 13000; return OK; }
R cuGetErrorName(R e, const char **s) { static __thread char b[32]; snprintf(b, 32, "CUDA_ERROR_%d", e); *s = b; return OK; }
R cuGetErrorString(R e, const char **s) { *s = "of the fake driver"; return OK; }
R cuDeviceGet(int *d, int n) { *d = n; return n == 0 ? OK : INVALID_DEVICE; }
R cuDeviceGetCount(int *n) { *n = 1; return OK; }
R cuDeviceGetName(char *s, int n, int d) { snprintf(s, n, "Fake GPU"); return OK; }
R cuDeviceGetUuid(void *u, int d) { memset(u, 0, 16); return OK; }
R cuDeviceGetUuid_v2(void *u, int d) { memset(u, 0, 16); return OK; }
R cuDeviceTotalMem_v2(size_t *n, int d) { *n = 1ull << 34; return OK; }
// `FAKE_COMPUTE`, as in 75: another compute capability than 9.0.
static int compute(void) { const char *s = getenv("FAKE_COMPUTE"); return s ? atoi(s) : 90; }
R cuDeviceGetAttribute(int *v, int a, int d) {
    switch (a) {
    case 1: *v = 1024; break;      // threads
    case 12: *v = 65536; break;    // registers
    case 16: *v = 8; break;        // multiprocessors
    case 38: *v = 1 << 20; break;  // L2
    case 75: *v = compute() / 10; break;
    case 76: *v = compute() % 10; break;
    case 97: *v = 232448; break;   // shared memory, opted in
    case 115: *v = 1; break;       // pools
    default: *v = 0;
    }
    return OK;
}
R cuDevicePrimaryCtxRetain(void **c, int d) { *c = &context_object; return OK; }
R cuDevicePrimaryCtxRelease_v2(int d) { return OK; }
R cuCtxGetCurrent(void **c) { *c = current; return OK; }
R cuCtxSetCurrent(void *c) { current = c; return OK; }
R cuCtxGetDevice(int *d) { CTX(); *d = 0; return OK; }
R cuCtxGetId(void *c, u64 *id) { *id = 1; return OK; }
R cuCtxSynchronize(void) { CTX(); return OK; }
R cuMemGetInfo_v2(size_t *f, size_t *t) { *f = *t = 1ull << 34; return OK; }

static R allocate(u64 *p, size_t n) {
    CTX();
    if (n == 0) return INVALID_VALUE;
    if (n > 1ull << 34) return OOM;
    Block *b = malloc(sizeof *b);
    b->ptr = (u64)aligned_alloc(256, (n + 255) / 256 * 256);
    memset((void *)b->ptr, 0xA5, n);
    b->bytes = n;
    pthread_mutex_lock(&lock);
    b->next = blocks; blocks = b;
    pthread_mutex_unlock(&lock);
    *p = b->ptr;
    return OK;
}
static R release(u64 p) {
    CTX();
    pthread_mutex_lock(&lock);
    for (Block **b = &blocks; *b; b = &(*b)->next) {
        if ((*b)->ptr != p) continue;
        Block *gone = *b;
        *b = gone->next;
        pthread_mutex_unlock(&lock);
        free((void *)gone->ptr);
        free(gone);
        return OK;
    }
    calls_bad++;
    pthread_mutex_unlock(&lock);
    return INVALID_VALUE;
}
static int known(u64 p, u64 n) {
    int found = 0;
    pthread_mutex_lock(&lock);
    for (Block *b = blocks; b; b = b->next) found |= b->ptr <= p && p + n <= b->ptr + b->bytes;
    if (!found) calls_bad++;
    pthread_mutex_unlock(&lock);
    return found;
}
R cuMemAlloc_v2(u64 *p, size_t n) { return allocate(p, n); }
R cuMemFree_v2(u64 p) { return release(p); }
R cuMemAllocAsync(u64 *p, size_t n, void *s) { return allocate(p, n); }
R cuMemAllocFromPoolAsync(u64 *p, size_t n, void *pool, void *s) { return allocate(p, n); }
// Memory of a graph lives as long as the process: replays use it.
R cuMemFreeAsync(u64 p, void *s) { return st(s)->capturing ? OK : release(p); }
R cuMemPoolCreate(void **p, const void *props) { *p = &context_object; return OK; }
R cuMemPoolDestroy(void *p) { return OK; }
R cuMemPoolSetAttribute(void *p, int a, void *v) { return OK; }
R cuMemPoolTrimTo(void *p, size_t n) { return OK; }
R cuMemcpyHtoDAsync_v2(u64 d, const void *h, size_t n, void *s) { CTX(); if (!known(d, n)) return INVALID_VALUE; memcpy((void *)d, h, n); return OK; }
R cuMemcpyDtoHAsync_v2(void *h, u64 d, size_t n, void *s) { CTX(); if (!known(d, n)) return INVALID_VALUE; memcpy(h, (void *)d, n); return OK; }
R cuMemcpyDtoDAsync_v2(u64 d, u64 f, size_t n, void *s) { CTX(); if (!known(d, n) || !known(f, n)) return INVALID_VALUE; memcpy((void *)d, (void *)f, n); return OK; }
R cuMemsetD8Async(u64 d, unsigned char v, size_t n, void *s) { CTX(); if (!known(d, n)) return INVALID_VALUE; memset((void *)d, v, n); return OK; }
R cuPointerGetAttribute(void *out, int a, u64 p) {
    pthread_mutex_lock(&lock);
    int found = 0;
    for (Block *b = blocks; b; b = b->next) found |= b->ptr <= p && p < b->ptr + b->bytes;
    pthread_mutex_unlock(&lock);
    *(int *)out = 0;
    return found ? OK : INVALID_VALUE;
}

R cuStreamCreate(void **s, unsigned f) { CTX(); *s = calloc(1, sizeof(Stream)); __sync_fetch_and_add(&live_streams, 1); return OK; }
R cuStreamDestroy_v2(void *s) { CTX(); __sync_fetch_and_sub(&live_streams, 1); free(s); return OK; }
R cuStreamSynchronize(void *s) {
    CTX();
    if (st(s)->capturing) { st(s)->broken = 1; return CAPTURE_UNSUPPORTED; }
    return OK;
}
R cuStreamQuery(void *s) { CTX(); return OK; }
R cuStreamWaitEvent(void *s, void *e, unsigned f) { CTX(); return e ? OK : INVALID_VALUE; }
R cuStreamGetCtx(void *s, void **c) { *c = &context_object; return OK; }
R cuStreamIsCapturing(void *s, int *v) { *v = st(s)->capturing; return OK; }
R cuStreamGetCaptureInfo_v2(void *s, int *v, u64 *id, void *g, void *d, void *n) { *v = st(s)->capturing; *id = (u64)(size_t)st(s)->graph; return OK; }
R cuStreamBeginCapture_v2(void *s, int mode) {
    CTX();
    if (!s || st(s)->capturing) return CAPTURE_UNSUPPORTED;
    st(s)->capturing = 1;
    st(s)->broken = 0;
    st(s)->graph = calloc(1, sizeof(Graph));
    __sync_fetch_and_add(&live_graphs, 1);
    return OK;
}
R cuGraphDestroy(void *g) { free(g); __sync_fetch_and_sub(&live_graphs, 1); return OK; }
R cuStreamEndCapture(void *s, void **g) {
    CTX();
    if (!st(s)->capturing) return INVALID_VALUE;
    st(s)->capturing = 0;
    *g = st(s)->graph;
    if (st(s)->broken) { cuGraphDestroy(*g); *g = NULL; return CAPTURE_UNSUPPORTED; }
    return OK;
}
R cuThreadExchangeStreamCaptureMode(int *m) { static __thread int mode; int old = mode; mode = *m; *m = old; return OK; }
R cuGraphInstantiateWithFlags(void **e, void *g, u64 f) { *e = malloc(sizeof(Graph)); memcpy(*e, g, sizeof(Graph)); __sync_fetch_and_add(&live_execs, 1); return OK; }
R cuGraphExecDestroy(void *e) { free(e); __sync_fetch_and_sub(&live_execs, 1); return OK; }

R cuEventCreate(void **e, unsigned f) { CTX(); *e = calloc(1, sizeof(Event)); __sync_fetch_and_add(&live_events, 1); return OK; }
R cuEventRecord(void *e, void *s) { CTX(); clock_gettime(CLOCK_MONOTONIC, &((Event *)e)->at); return OK; }
R cuEventSynchronize(void *e) { CTX(); return OK; }
R cuEventQuery(void *e) { return OK; }
R cuEventElapsedTime(float *ms, void *a, void *b) {
    struct timespec x = ((Event *)a)->at, y = ((Event *)b)->at;
    *ms = (y.tv_sec - x.tv_sec) * 1e3f + (y.tv_nsec - x.tv_nsec) * 1e-6f;
    return OK;
}
R cuEventDestroy_v2(void *e) { CTX(); free(e); __sync_fetch_and_sub(&live_events, 1); return OK; }

R cuLibraryLoadData(void **l, const void *d, int *o, void **v, unsigned n, int *lo, void **lv, unsigned ln) {
    if (!strstr(d, ".entry")) return INVALID_PTX;
    if (strstr(d, "ld.nowhere")) {
        for (unsigned i = 0; i < n; i++) if (o[i] == 5) strcpy(v[i], "line 14: unknown modifier .nowhere");
        return INVALID_PTX;
    }
    Library *lib = malloc(sizeof *lib);
    lib->ptx = strdup(d);
    *l = lib;
    return OK;
}
R cuLibraryUnload(void *l) { free(((Library *)l)->ptx); free(l); return OK; }
R cuLibraryGetKernel(void **k, void *l, const char *name) {
    Library *lib = l;
    const char *add = strstr(lib->ptx, "add.f32 %f1, %f1, 0f");
    if (!strstr(lib->ptx, name) || !add) return NOT_FOUND;
    Kernel *kernel = calloc(1, sizeof *kernel);
    uint32_t bits = strtoul(add + 20, NULL, 16);
    memcpy(&kernel->add, &bits, 4);
    snprintf(kernel->name, 64, "%s", name);
    *k = kernel;
    return OK;
}
R cuModuleLoadData(void **m, const void *d) { return cuLibraryLoadData(m, d, NULL, NULL, 0, NULL, NULL, 0); }
R cuModuleGetFunction(void **f, void *m, const char *name) { return cuLibraryGetKernel(f, m, name); }
R cuKernelGetFunction(void **f, void *k) { CTX(); *f = k; return OK; }
R cuKernelGetAttribute(int *v, int a, void *k, int d) { *v = a == 0 ? 1024 : a == 4 ? 16 : 0; return OK; }
R cuKernelSetAttribute(int a, int v, void *k, int d) { if (a == 8) ((Kernel *)k)->max_shared = v; return OK; }

// What is encoded here: base, two extents, a stride.
R cuTensorMapEncodeTiled(u64 *map, unsigned type, unsigned rank, void *base, const u64 *dims, const u64 *strides, const unsigned *box,
                         const unsigned *steps, unsigned interleave, unsigned swizzle, unsigned promotion, unsigned fill) {
    if ((u64)map % 64 || (u64)base % 16 || rank < 1 || rank > 5 || type > 12 || interleave || swizzle > 3 || promotion > 3 || fill) return INVALID_VALUE;
    for (unsigned d = 0; d < rank; d++)
        if (!dims[d] || dims[d] > 1ull << 32 || !box[d] || box[d] > 256 || steps[d] != 1 || (d && strides[d - 1] % 16)) return INVALID_VALUE;
    memset(map, 0, 128);
    map[0] = (u64)base, map[1] = dims[0], map[2] = rank > 1 ? dims[1] : 1, map[3] = rank > 1 ? strides[0] : 0;
    return OK;
}
static int boxes(const Kernel *k) { return !strcmp(k->name, "add_boxes"); }

static void run(const Node *n) {
    const Kernel *k = n->k;
    if (boxes(k)) {
        const u64 cols = n->map[1], rows = n->map[2], pitch = n->map[3];
        for (u64 r = 0; r < rows; r++)
            for (u64 c = 0; c < cols; c++) ((float *)n->slots[5])[r * cols + c] = ((const float *)(n->map[0] + r * pitch))[c] + k->add;
        return;
    }
    u64 end = (u64)n->grid * n->threads;
    for (u64 i = 0; i < end && i < n->slots[1] && i < n->slots[3]; i++)
        ((float *)n->slots[2])[i] = ((const float *)n->slots[0])[i] + k->add;
}
R cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *s, void **params, void **extra) {
    CTX();
    if (!gx || !gy || !gz || bx * by * bz > 1024 || shared > ((Kernel *)f)->max_shared + 49152) return INVALID_VALUE;
    Node n = { .k = f, .threads = bx, .grid = gx };
    const int boxed = boxes(f);
    for (int i = 0; i < (boxed ? 7 : 4); i++) n.slots[i] = *(u64 *)params[i];
    if (boxed) {
        if ((u64)params[7] % 64) return INVALID_VALUE;
        memcpy(n.map, params[7], 128);
    } else if (n.slots[1] && (!known(n.slots[0], n.slots[1] * 4) || !known(n.slots[2], n.slots[3] * 4))) return 700;
    if (!st(s)->capturing) { run(&n); return OK; }
    Node *kept = malloc(sizeof n);
    *kept = n;
    Graph *g = st(s)->graph;
    if (g->last) g->last->next = kept; else g->first = kept;
    g->last = kept;
    return OK;
}
// As in cuda.h; of the attributes only the one that lets a launch begin early is known here.
typedef struct { unsigned id; char pad[4]; union { int allowed; char all[64]; } value; } Attribute;
typedef struct { unsigned gx, gy, gz, bx, by, bz, shared; void *stream; Attribute *attrs; unsigned n; } Config;
R cuLaunchKernelEx(const Config *c, void *f, void **params, void **extra) {
    if (c->n != 1 || c->attrs->id != 6 || c->attrs->value.allowed != 1) return INVALID_VALUE;
    early_launches++;
    return cuLaunchKernel(f, c->gx, c->gy, c->gz, c->bx, c->by, c->bz, c->shared, c->stream, params, extra);
}
R cuGraphLaunch(void *e, void *s) { CTX(); for (Node *n = ((Graph *)e)->first; n; n = n->next) run(n); return OK; }

// What a test asks at its end: handles and blocks that are still there, and calls that made no sense.
long cuda_fake_count(int what) {
    long n = 0;
    for (Block *b = blocks; b; b = b->next) n++;
    long all[] = { n, live_streams, live_events, live_graphs, live_execs, calls_bad, early_launches };
    return all[what];
}
