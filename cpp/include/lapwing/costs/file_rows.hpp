// Rows of a matrix that lies in a file as it is computed with: read straight to where they are kept.
//
// A read that the file cannot answer, because it was truncated or changed, is reported by the caller.
#pragma once

#if __has_include(<sys/uio.h>)
#define LAPWING_HAS_FILE_ROWS 1

#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "lapwing/types.hpp"

namespace lapwing {

template <class T>
class FileRows {
  public:
    // Rows of `cols` costs, from `position` on, `stride` bytes from one to the next, in a file of this size and time of
    // change. The descriptor stays the caller's.
    FileRows(int file, std::int64_t position, std::int64_t stride, Index cols, std::int64_t size, std::int64_t changed)
        : file_(file), position_(position), stride_(stride), row_bytes_(std::int64_t{cols} * sizeof(T)), size_(size),
          changed_(changed) {}

    // Writes rows begin .. end - 1 to rows[0], rows[1], ...; false if that cannot be done.
    bool read(Index begin, Index end, T* const* rows) const {
        if ((end - begin > 1 || row_bytes_ >= kLargeRow) && !is_unchanged()) return false;
        constexpr Index kAtOnce = 64;
        for (Index i = begin; i < end;) {
            iovec parts[kAtOnce];
            const Index count = stride_ == row_bytes_ ? std::min(kAtOnce, end - i) : 1;
            for (Index k = 0; k < count; ++k) parts[k] = {rows[i - begin + k], static_cast<std::size_t>(row_bytes_)};
            const auto wanted = count * row_bytes_;
            if (preadv(file_, parts, count, position_ + i * stride_) != wanted) return false;
            i += count;
        }
        return true;
    }

  private:
    static constexpr std::int64_t kLargeRow = 1 << 18;  // bytes; a look at the file is cheap beside it

    bool is_unchanged() const {
        struct stat status;
        if (fstat(file_, &status) != 0) return false;
#ifdef __APPLE__
        const auto& time = status.st_mtimespec;
#else
        const auto& time = status.st_mtim;
#endif
        return status.st_size == size_ && std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec == changed_;
    }

    int file_;
    std::int64_t position_, stride_, row_bytes_, size_, changed_;
};

}  // namespace lapwing

#endif
