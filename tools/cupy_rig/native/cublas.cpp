// A cuBLAS whose device is the CPU, in libcublas.so.12: matrix products, with cuBLAS's C interface.
//
// cupy_on_cpu/replaced/cublas.py calls it for CuPy, and programs may call it as they call NVIDIA's.  Sums
// of float32 and float16 are computed in double precision.  Work goes into the handle's stream, so that
// a stream that captures keeps it.  A product overwrites the workspace that a program has set.

#include <cuda_runtime.h>

#include <cstring>

#include "captures.h"

// cuBLAS's types, in what is used of them; its headers come with the library alone.
enum cublasStatus_t {
    CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1, CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13, CUBLAS_STATUS_NOT_SUPPORTED = 15
};
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasComputeType_t { CUBLAS_COMPUTE_64F = 70, CUBLAS_COMPUTE_64F_PEDANTIC = 71 };

struct Handle {
    cudaStream_t stream = nullptr;
    void* workspace = nullptr;
    size_t bytes = 0;
    int mode = 0;  // of mathematics: the default
};

namespace {

constexpr size_t OVERWRITTEN = 65536;  // the greatest number of bytes of a workspace that are overwritten

template <class T> struct Complex { T real, imag; };

// Numbers as they are stored -> as sums are computed.
inline double wide(_Float16 x) { return x; }
inline double wide(float x) { return x; }
inline double wide(double x) { return x; }
template <class T> Complex<double> wide(Complex<T> x) { return {x.real, x.imag}; }
template <class T, class F> void narrow(T& to, F from) { to = (T)from; }
template <class T> void narrow(Complex<T>& to, Complex<double> from) { to = {(T)from.real, (T)from.imag}; }

// As BLAS does, a complex product has no special cases for infinities.
inline double times(double x, double y) { return x * y; }
inline Complex<double> times(Complex<double> x, Complex<double> y) {
    return {x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real};
}
inline void add(double& sum, double x) { sum += x; }
inline void add(Complex<double>& sum, Complex<double> x) { sum.real += x.real; sum.imag += x.imag; }
inline double conjugate(double x) { return x; }
inline Complex<double> conjugate(Complex<double> x) { return {x.real, -x.imag}; }
inline bool is_zero(double x) { return x == 0; }
inline bool is_zero(Complex<double> x) { return x.real == 0 && x.imag == 0; }

// Element (row, column) of a matrix after an operation, stored column by column.
template <class T> auto element(const T* x, int leading, cublasOperation_t operation, int row, int column) {
    if (operation == CUBLAS_OP_N) return wide(x[row + (long long)column * leading]);
    auto value = wide(x[column + (long long)row * leading]);
    return operation == CUBLAS_OP_C ? conjugate(value) : value;
}

struct Shape { cublasOperation_t ta, tb; int m, n, k, lda, ldb, ldc; };

template <class T, class S> void product(const Shape& s, S alpha, const T* a, const T* b, S beta, T* c) {
    using W = decltype(wide(T()));
    for (int j = 0; j < s.n; j++)
        for (int i = 0; i < s.m; i++) {
            W sum{};
            for (int l = 0; l < s.k; l++)
                add(sum, times(element(a, s.lda, s.ta, i, l), element(b, s.ldb, s.tb, l, j)));
            T& out = c[i + (long long)j * s.ldc];
            sum = times(wide(alpha), sum);
            if (!is_zero(wide(beta))) add(sum, times(wide(beta), wide(out)));
            narrow(out, sum);
        }
}

bool fits(const Shape& s, int count) {
    auto rows = [](cublasOperation_t t, int n, int k) { return t == CUBLAS_OP_N ? n : k; };
    auto least = [](int n) { return n > 1 ? n : 1; };
    return s.m >= 0 && s.n >= 0 && s.k >= 0 && count >= 0 && s.lda >= least(rows(s.ta, s.m, s.k))
        && s.ldb >= least(rows(s.tb, s.k, s.n)) && s.ldc >= least(s.m);
}

cublasStatus_t put(Handle* h, const Shape& shape, int count, const std::function<void()>& work) {
    if (!h) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!fits(shape, count)) return CUBLAS_STATUS_INVALID_VALUE;
    void* workspace = h->workspace;
    size_t bytes = h->bytes < OVERWRITTEN ? h->bytes : OVERWRITTEN;
    auto whole = [=] {
        if (bytes) memset(workspace, 0xA5, bytes);
        work();
    };
    return rig_enqueue(h->stream, whole) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

template <class T, class S>
cublasStatus_t strided(Handle* h, const Shape& shape, const void* alpha, const void* a, long long sa,
                       const void* b, long long sb, const void* beta, void* c, long long sc, int count) {
    S first = *(const S*)alpha, second = *(const S*)beta;  // on the host, so the values now count
    return put(h, shape, count, [=] {
        for (long long i = 0; i < count; i++)
            product<T, S>(shape, first, (const T*)a + i * sa, (const T*)b + i * sb, second, (T*)c + i * sc);
    });
}

template <class T>
cublasStatus_t batched(Handle* h, const Shape& shape, const void* alpha, const void* const* a,
                       const void* const* b, const void* beta, void* const* c, int count) {
    T first = *(const T*)alpha, second = *(const T*)beta;
    return put(h, shape, count, [=] {  // the pointers are read when the product is computed
        for (int i = 0; i < count; i++)
            product<T, T>(shape, first, (const T*)a[i], (const T*)b[i], second, (T*)c[i]);
    });
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(Handle** h) { *h = new Handle; return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasDestroy_v2(Handle* h) { delete h; return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetStream_v2(Handle* h, cudaStream_t stream) {
    h->stream = stream;
    h->workspace = nullptr;
    h->bytes = 0;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(Handle* h, void* workspace, size_t bytes) {
    if ((size_t)workspace % 256) return CUBLAS_STATUS_INVALID_VALUE;
    h->workspace = workspace;
    h->bytes = bytes;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(Handle* h, int mode) { h->mode = mode; return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasGetMathMode(Handle* h, int* mode) { *mode = h->mode; return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasGemmStridedBatchedEx(
    Handle* h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const void* alpha,
    const void* a, cudaDataType at, int lda, long long sa, const void* b, cudaDataType bt, int ldb,
    long long sb, const void* beta, void* c, cudaDataType ct, int ldc, long long sc, int count,
    cublasComputeType_t compute, int) {
    Shape shape{ta, tb, m, n, k, lda, ldb, ldc};
    bool twice = ct == CUDA_R_64F || ct == CUDA_C_64F;  // sums of float64 are sums in float64, and no other
    if (at != bt || at != ct || (compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC) != twice)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    switch (ct) {
        case CUDA_R_16F: return strided<_Float16, float>(h, shape, alpha, a, sa, b, sb, beta, c, sc, count);
        case CUDA_R_32F: return strided<float, float>(h, shape, alpha, a, sa, b, sb, beta, c, sc, count);
        case CUDA_R_64F: return strided<double, double>(h, shape, alpha, a, sa, b, sb, beta, c, sc, count);
        case CUDA_C_32F:
            return strided<Complex<float>, Complex<float>>(h, shape, alpha, a, sa, b, sb, beta, c, sc, count);
        case CUDA_C_64F:
            return strided<Complex<double>, Complex<double>>(h, shape, alpha, a, sa, b, sb, beta, c, sc, count);
        default: return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}
cublasStatus_t cublasGemmEx(
    Handle* h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const void* alpha,
    const void* a, cudaDataType at, int lda, const void* b, cudaDataType bt, int ldb, const void* beta,
    void* c, cudaDataType ct, int ldc, cublasComputeType_t compute, int algorithm) {
    return cublasGemmStridedBatchedEx(h, ta, tb, m, n, k, alpha, a, at, lda, 0, b, bt, ldb, 0, beta, c, ct,
                                      ldc, 0, 1, compute, algorithm);
}
#define RIG_BATCHED(NAME, T) \
    cublasStatus_t NAME(Handle* h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, \
                        const void* alpha, const void* const* a, int lda, const void* const* b, int ldb, \
                        const void* beta, void* const* c, int ldc, int count) { \
        return batched<T>(h, {ta, tb, m, n, k, lda, ldb, ldc}, alpha, a, b, beta, c, count); \
    }
RIG_BATCHED(cublasSgemmBatched, float)
RIG_BATCHED(cublasDgemmBatched, double)
RIG_BATCHED(cublasCgemmBatched, Complex<float>)
RIG_BATCHED(cublasZgemmBatched, Complex<double>)
}  // extern "C"
