import CMallocCount
import Glibc

struct BenchmarkError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// The cost of some work: seconds of this process's CPU time, and allocations.
struct Cost {
  var seconds: Double
  var allocations: Int
}

func measure(_ body: () throws -> Void) rethrows -> Cost {
  func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
  let (start, before) = (seconds(), cmalloc_count())
  try body()
  return Cost(seconds: seconds() - start, allocations: Int(cmalloc_count() - before))
}

/// The middle value of some.
func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

/// Of this process, now.
func residentBytes() throws -> Int {
  guard let file = fopen("/proc/self/statm", "r") else { throw BenchmarkError("/proc/self/statm cannot be read") }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 256)
  guard fgets(&line, Int32(line.count), file) != nil else { throw BenchmarkError("/proc/self/statm is empty") }
  let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self).split(separator: " ")
  guard words.count > 1, let pages = Int(words[1]) else { throw BenchmarkError("/proc/self/statm has no second number") }
  return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
}
