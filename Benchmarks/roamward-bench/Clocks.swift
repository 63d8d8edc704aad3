import Glibc

/// Milliseconds on the wall and of this process's CPU time, user and system.
struct Elapsed {
  var wall: Double
  var cpu: Double
}

enum Clock {
  /// Milliseconds of a clock that never steps.
  static var wall: Double { read(CLOCK_MONOTONIC) }
  /// Milliseconds of CPU that this process has used.
  static var cpu: Double { read(CLOCK_PROCESS_CPUTIME_ID) }

  private static func read(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) * 1000 + Double(time.tv_nsec) / 1_000_000
  }
}

func measure(_ body: () throws -> Void) rethrows -> Elapsed {
  let (wall, cpu) = (Clock.wall, Clock.cpu)
  try body()
  return Elapsed(wall: Clock.wall - wall, cpu: Clock.cpu - cpu)
}
