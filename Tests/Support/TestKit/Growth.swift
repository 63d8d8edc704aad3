import Glibc

/// The growth of the processor time of some work with its size, as the exponent between a size and eight times as much: 1 is linear, 2 is
/// quadratic. Times are those of the thread alone, the least of several, so other work on the machine counts little.
///
/// - Parameter prepare: makes the work of a size; only the work is measured.
package func growthExponent(from small: Int = 250, _ prepare: (Int) throws -> () throws -> Void) throws -> Double {
  let large = small * 8
  var (least, most) = (Double.infinity, Double.infinity)
  for _ in 0..<3 {
    let (few, many) = (try prepare(small), try prepare(large))
    for _ in 0..<2 {
      least = min(least, try threadTime(of: few))
      most = min(most, try threadTime(of: many))
    }
  }
  return log(most / least) / log(Double(large) / Double(small))
}

/// The most that work which promises to be linear grows: sorting, caches and a busy machine count too. Nothing quadratic is near it.
package let linearGrowth = 1.5

private func threadTime(of work: () throws -> Void) throws -> Double {
  func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
  let begin = now()
  try work()
  return now() - begin
}
