internal import CLinux
internal import Glibc

/// A program in a network namespace of its own, in which another program (passt's `pasta`) is the only way out.
package enum Isolation {
  /// Runs the program that makes the namespace, and passes signals on to the first process in it. Returns its exit status.
  package static func run(_ path: String, _ arguments: [String]) throws(SystemError) -> Int32 {
    let status = withArguments(arguments) { clinux_run_in_network(path, $0) }
    guard status >= 0 else { throw .last("run \(path)") }
    return status
  }

  /// Gives this process, the first one of the namespace, its own /proc, and puts files over others. It has one thread.
  package static func cover(_ files: [(covered: String, by: String)]) throws(SystemError) {
    let covered = files.map { strdup($0.covered) }
    let covers = files.map { strdup($0.by) }
    defer { for text in covered + covers { free(text) } }
    let result = covered.map { UnsafePointer($0) }.withUnsafeBufferPointer { covered in
      covers.map { UnsafePointer($0) }.withUnsafeBufferPointer { covers in
        clinux_own_view(covered.baseAddress, covers.baseAddress, UInt32(files.count))
      }
    }
    guard result == 0 else { throw .last("make mounts of its own") }
  }

  /// Runs a program as this user, and waits for it and for all that it leaves. Returns its exit status.
  package static func runFirst(_ path: String, _ arguments: [String], user: UInt32, group: UInt32) throws(SystemError) -> Int32 {
    let status = withArguments(arguments) { clinux_run_as_first(path, $0, user, group) }
    guard status >= 0 else { throw .last("run \(path)") }
    return status
  }

  private static func withArguments(_ arguments: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Int32) -> Int32 {
    // A terminal shows what was written before.
    fflush(nil)
    let texts = arguments.map { strdup($0) } + [nil]
    defer { for text in texts { free(text) } }
    return texts.withUnsafeBufferPointer { texts in texts.baseAddress.map(body) ?? -1 }
  }
}
