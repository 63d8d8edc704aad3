internal import CLinux
internal import Glibc
internal import LinuxIO
internal import NetworkTypes

package struct TookTooLong: Error {
  package init() {}
}

/// The end of a program, and its text on standard output and standard error, at most 64 KiB of it.
package struct ProgramOutcome: Hashable, Sendable {
  /// 0 to 255, or 128 and the signal's number.
  package let code: Int32
  package let output: String
}

/// Runs a program on this thread's namespaces, in a process group of its own. What hangs is killed after half an hour (`TookTooLong`): a
/// busy machine may take many times as long as a quiet one.
package func run(_ arguments: [String], environment: [String: String] = [:]) throws -> ProgramOutcome {
  let loop = try DescriptorLoop()
  var ends: [Int32] = [0, 0]
  guard clinux_pipe(&ends) == 0 else { throw SystemError.last("pipe") }
  let (reading, writing) = (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
  let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
  let variables = ["PATH": path].merging(environment) { _, new in new }.map { "\($0.key)=\($0.value)" }
  // Its umask is this process's, which a change for a moment could leave changed: another test may change it at the same time.
  let process = try SpawnedProgram(
    arguments.first ?? "", arguments, environment: variables, descriptors: [.nothing, .open(writing), .open(writing)], company: .group
  ).start()
  var output: [UInt8] = []
  var source: DescriptorLoop.Source?
  func gather() {
    guard let part = try? reading.read() else { return }
    // The end: nobody is left who could write.
    if part.isEmpty { source = nil }
    output += part.prefix(max(0, 65_536 - output.count))
  }
  source = try loop.whenReadable(reading.number) { gather() }
  var isLate = false
  let sources = [
    try loop.onExit(of: process) { loop.stop(code: $0) },
    try loop.at(.now + .seconds(1_800)) {
      isLate = true
      kill(-process, SIGKILL)
    },
  ]
  let code = try loop.run()
  gather()
  withExtendedLifetime((sources, source, writing)) {}
  if isLate { throw TookTooLong() }
  return ProgramOutcome(code: code, output: String(decoding: output, as: UTF8.self))
}

/// Makes a file that can be executed at once. A process of its own writes it: a file that this one has open for writing is shared with a
/// child that another test is just starting, and cannot be executed (ETXTBSY) until that child runs its program.
package func makeProgram(_ path: String, _ text: String) throws {
  try TextFile.replace(path + ".text", with: Array(text.utf8), mode: 0o644)
  try shell("cat '\(path).text' >'\(path)' && chmod 755 '\(path)' && rm '\(path).text'")
}

/// Runs a line of sh(1) on this thread's namespaces; gives what it wrote. A status other than 0 throws.
@discardableResult
package func shell(_ line: String) throws -> String {
  let outcome = try run(["/bin/sh", "-c", "umask 022\n\(line)"])
  guard outcome.code == 0 else { throw SystemError(code: outcome.code, operation: "\(line): \(outcome.output)") }
  return outcome.output
}
