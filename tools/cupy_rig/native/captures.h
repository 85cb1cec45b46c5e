// Work that libraries of the rig put into streams, which is kept if the stream captures: see driver.cpp.
#pragma once
#include <cuda_runtime.h>

#include <functional>

extern "C" cudaError_t rig_enqueue(cudaStream_t stream, const std::function<void()>& work);
