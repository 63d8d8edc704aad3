import Glibc

/// Another program, by its words; found on the PATH.
struct Program {
  var words: [String]

  init(_ words: [String]) { self.words = words }

  /// Starts it; its process id.
  func start() throws -> pid_t {
    var arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process: pid_t = 0
    let result = posix_spawnp(&process, words[0], nil, nil, &arguments, environ)
    guard result == 0 else { throw BenchmarkError("\(words[0]): \(String(cString: strerror(result)))") }
    return process
  }

  /// Runs it to its end, and gives the time from just before its start to its exit, and what CPU it took.
  @discardableResult
  func run() throws -> Elapsed {
    let begin = Clock.wall
    let process = try start()
    var status: Int32 = 0
    var usage = rusage()
    while wait4(process, &status, 0, &usage) < 0, errno == EINTR {}
    let wall = Clock.wall - begin
    guard status == 0 else { throw BenchmarkError("failed: \(words.joined(separator: " "))") }
    return Elapsed(wall: wall, cpu: usage.ru_utime.milliseconds + usage.ru_stime.milliseconds)
  }
}

extension timeval {
  fileprivate var milliseconds: Double { Double(tv_sec) * 1000 + Double(tv_usec) / 1000 }
}

/// The reason why nothing could be measured.
struct BenchmarkError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
