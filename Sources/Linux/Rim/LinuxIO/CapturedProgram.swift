internal import CLinux
internal import Glibc
internal import NetworkTypes

/// The output of a program that was run to its end: standard output and standard error together.
package struct CapturedProgram {
  package let output: [UInt8]
  /// The exit code, or 128 plus the number of a signal; `nil`: it did not end in time and was killed.
  package let status: Int32?

  /// Runs the program with an empty standard input, in a process group of its own. After `limit`, the group is killed. Of a longer output,
  /// `longest` bytes are returned. `output`: where standard output goes instead. `umask`: its file mode creation mask; `nil`: that of this
  /// process.
  package init(
    _ program: String, _ arguments: [String], environment: [String], limit: Duration = .seconds(20), longest: Int = 1 << 22,
    output file: FileDescriptor? = nil, umask: UInt32? = nil
  ) throws(SystemError) {
    let (process, reader) = try Self.start(program, arguments, environment, output: file, umask: umask)
    let end = Moment.now + limit
    var bytes: [UInt8] = []
    var hasEnded = false
    while !hasEnded, bytes.count < longest {
      var poller = pollfd(fd: reader.number, events: Int16(POLLIN), revents: 0)
      let left = (end - .now).milliseconds
      guard left > 0, poll(&poller, 1, Int32(clamping: left)) > 0 else { break }
      let part = try reader.read() ?? []
      bytes += part
      hasEnded = part.isEmpty
    }
    if !hasEnded { kill(-process, SIGKILL) }
    var code: Int32 = 0
    while waitpid(process, &code, 0) < 0, errno == EINTR {}
    output = Array(bytes.prefix(longest))
    status = !hasEnded && bytes.count < longest ? nil : code & 0x7f == 0 ? code >> 8 & 0xff : 128 + code & 0x7f
  }
  /// The process, and the end of the pipe that it writes to. No other end stays open here, so the pipe ends with the process.
  private static func start(
    _ program: String, _ arguments: [String], _ environment: [String], output file: FileDescriptor?, umask: UInt32?
  ) throws(SystemError) -> (Int32, FileDescriptor) {
    var ends: [Int32] = [0, 0]
    guard clinux_pipe(&ends) == 0 else { throw .last("pipe") }
    for end in ends { _ = fcntl(end, F_SETFL, 0) }
    let (reader, writer) = (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
    let spawned = SpawnedProgram(
      program, [program] + arguments, environment: environment, descriptors: [.nothing, .open(file ?? writer), .open(writer)],
      company: .group, umask: umask)
    return (try spawned.start(), reader)
  }
}
