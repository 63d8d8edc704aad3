internal import CLinux
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
package import RoamwardProvider

/// A process of openconnect(8), and the pipes to it: what it reads, prints, and what its script says.
///
/// It never sees a secret in an argument or in a file with a name.
package final class OpenConnectProcess: OpenConnectRunner {
  private static let programs = ["/usr/sbin/openconnect", "/usr/local/sbin/openconnect", "/usr/bin/openconnect"]
  /// A line that is longer is none of openconnect's.
  private static let longestLine = 1 << 16
  /// Bytes of one call of its script.
  private static let longestCall = 1 << 20
  /// A line without end that stays as it is for so long is a prompt.
  private static let promptDelay = Duration.milliseconds(100)

  private let loop: DescriptorLoop?
  private var process: Int32 = 0
  private var input: FileDescriptor?
  private var sources: [DescriptorLoop.Source] = []
  private var prompting: DescriptorLoop.Source?
  private var unread = LineBuffer(longest: longestLine)
  private var result = LineBuffer(longest: longestLine)
  private var call: [UInt8] = []
  private var said: (OpenConnectWord) -> Void = { _ in }

  package init(host: ProviderHost) { loop = host.loop }

  deinit { kill() }

  package func start(
    _ command: OpenConnectCommand, said: @escaping (OpenConnectWord) -> Void, ended: @escaping (Int32) -> Void
  ) -> String? {
    kill()
    forget()
    self.said = said
    guard let loop, let program = Self.programs.first(where: { access($0, X_OK) == 0 }) else {
      return "openconnect is not installed: apt install openconnect"
    }
    do throws(SystemError) {
      let (theirInput, ourInput) = try Self.pipe()
      let (ourResult, theirResult) = try Self.pipe()
      let (ourLog, theirLog) = try Self.pipe()
      let (ourCalls, theirCalls) = try Self.pipe()
      for end in [theirInput, theirResult, theirLog, theirCalls] {
        _ = fcntl(end.number, F_SETFL, fcntl(end.number, F_GETFL) & ~O_NONBLOCK)
      }
      var arguments = ["openconnect"]
      var descriptors = [theirInput, theirResult, theirLog, theirCalls]
      for (option, bytes) in command.files.sorted(by: { $0.key < $1.key }) {
        arguments += [option, "/proc/self/fd/\(descriptors.count)"]
        descriptors.append(try Self.nameless(bytes))
      }
      process = try SpawnedProgram(
        program, arguments + command.arguments, environment: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/nonexistent"],
        descriptors: descriptors.map { .open($0) }, company: .group, umask: 0o077
      ).start()
      input = ourInput
      sources = [
        try loop.whenReadable(ourResult.number) { [weak self] in self?.readResult(ourResult) },
        try loop.whenReadable(ourLog.number) { [weak self] in self?.readLog(ourLog) },
        try loop.whenReadable(ourCalls.number) { [weak self] in self?.readCalls(ourCalls) },
      ]
      sources.append(
        try loop.onExit(of: process) { [weak self] code in
          // Its last words.
          self?.readCalls(ourCalls)
          self?.readResult(ourResult)
          self?.readLog(ourLog)
          self?.process = 0
          self?.forget()
          ended(code)
        })
      if !command.input.isEmpty { type(command.input) }
      return nil
    } catch {
      kill()
      forget()
      return "\(program): \(error)"
    }
  }

  /// The end to read, and the end to write.
  private static func pipe() throws(SystemError) -> (FileDescriptor, FileDescriptor) {
    var ends: [Int32] = [0, 0]
    guard clinux_pipe(&ends) == 0 else { throw .last("pipe") }
    return (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
  }

  /// A file that has no name any more: openconnect(8) opens it by the descriptor's name in /proc, and no other user can. What is in it is
  /// in files of the policy too, so /tmp may be on a disk.
  private static func nameless(_ bytes: [UInt8]) throws(SystemError) -> FileDescriptor {
    var template = Array("/tmp/roamward-openconnect-XXXXXX".utf8CString)
    let number = mkstemp(&template)
    guard number >= 0 else { throw .last("make a file in /tmp") }
    unlink(template)
    let file = FileDescriptor(owning: number)
    var rest = bytes[...]
    while !rest.isEmpty { rest = rest.dropFirst(try file.write(rest)) }
    return file
  }

  // MARK: What it says

  private func readResult(_ file: FileDescriptor) {
    while let bytes = try? file.read(), !bytes.isEmpty {
      result.append(bytes)
      for line in result.takeTexts() { said(.result(line)) }
    }
  }

  private func readLog(_ file: FileDescriptor) {
    while let bytes = try? file.read(), !bytes.isEmpty {
      unread.append(bytes)
      prompting = nil
      for line in unread.takeTexts() { said(.line(line)) }
    }
    guard let last = unread.rest.last(where: { $0 != 0x20 }), last == UInt8(ascii: ":") else { return }
    prompting = try? loop?.at(.now + Self.promptDelay) { [weak self] in
      guard let self else { return }
      let text = String(decoding: unread.takeRest(), as: UTF8.self)
      prompting = nil
      said(.prompt(text))
    }
  }

  private func readCalls(_ file: FileDescriptor) {
    while let bytes = try? file.read(), !bytes.isEmpty {
      call += bytes
      // An empty variable ends a call.
      while let end = Self.endOfCall(call) {
        let values = Self.variables(call[..<end])
        call.removeSubrange(...(end + 1))
        said(.script(values))
      }
      if call.count > Self.longestCall { kill() }
    }
  }

  private static func endOfCall(_ bytes: [UInt8]) -> Int? { bytes.indices.dropLast().first { bytes[$0] == 0 && bytes[$0 + 1] == 0 } }

  private static func variables(_ bytes: ArraySlice<UInt8>) -> [String: String] {
    var values: [String: String] = [:]
    for text in bytes.split(separator: 0) {
      guard let text = String(validating: text, as: UTF8.self), let equals = text.firstIndex(of: "=") else { continue }
      values[String(text[..<equals])] = String(text[text.index(after: equals)...])
    }
    return values
  }

  // MARK: What it is told

  package func answer(_ text: String) { type("\(text)\n") }

  private func type(_ text: String) {
    // A pipe holds 64 KiB, which no answer has.
    _ = try? input?.write(Array(text.utf8)[...])
  }

  package func reconnect() { signal(SIGUSR2) }
  package func leave() { signal(SIGINT) }
  package func pause() { signal(SIGHUP) }
  package func kill() { signal(SIGKILL) }

  private func signal(_ number: Int32) { if process > 0 { Glibc.kill(process, number) } }

  private func forget() {
    (input, sources, prompting) = (nil, [], nil)
    (unread, result, call) = (LineBuffer(longest: Self.longestLine), LineBuffer(longest: Self.longestLine), [])
  }
}
