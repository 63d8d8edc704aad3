internal import Glibc
internal import LinuxIO

/// A program that works without privileges, most of them on what the agent alone passes in. It has no argument parser, which would double
/// its memory use.
package enum ConfinedProgram {
  /// Runs the program by its arguments; returns its exit status.
  package static func run(
    _ name: String, usage: String, atWork: () throws -> Void, check: () throws -> Void
  ) -> Int32 {
    do {
      switch CommandLine.arguments.dropFirst() {
      case ["--at-work"]: try atWork()
      case ["--check"]: try check()
      case ["-h"], ["--help"]: say(usage, on: STDOUT_FILENO)
      default:
        say(usage, on: STDERR_FILENO)
        return 64
      }
      return 0
    } catch {
      say("\(name): \(error)\n", on: STDERR_FILENO)
      return 1
    }
  }

  /// The same for a program that people start: `work` gets its other arguments, and what writes a line to standard output. An error that is
  /// not of the system is one of the arguments (64).
  package static func run(
    _ name: String, usage: String, check: () throws -> Void, work: (_ words: [String], _ say: (String) -> Void) throws -> Void
  ) -> Int32 {
    do {
      switch CommandLine.arguments.dropFirst() {
      case ["--check"]: try check()
      case ["-h"], ["--help"]: say(usage, on: STDOUT_FILENO)
      case let words: try work(Array(words)) { say("\(name): \($0)\n", on: STDOUT_FILENO) }
      }
      return 0
    } catch {
      say("\(name): \(error)\n", on: STDERR_FILENO)
      return error is SystemError ? 1 : 64
    }
  }

  /// Without another system call than write(2): also for a process that is confined.
  private static func say(_ text: String, on descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else { return }
      rest = rest.dropFirst(max(count, 0))
    }
  }
}
