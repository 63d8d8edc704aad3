internal import Glibc
internal import LinuxIO

/// A program that only the agent starts, to work without privileges on what it passes in. It has no argument parser, which would double its
/// memory use.
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

  private static func say(_ text: String, on descriptor: Int32) {
    try? FileDescriptor(owning: dup(descriptor)).writeAll(Array(text.utf8))
  }
}
