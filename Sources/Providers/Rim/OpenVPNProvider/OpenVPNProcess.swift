internal import CLinux
internal import Glibc
internal import LinuxIO
package import RoamwardProvider

/// A process of openvpn(8), and its connection to our end of the management interface: a unix socket in a folder of this program.
///
/// Its configuration comes by standard input: no copy of it is in a file.
package final class OpenVPNProcess: OpenVPNRunner {
  private static let programs = ["/usr/sbin/openvpn", "/usr/local/sbin/openvpn", "/usr/bin/openvpn"]
  /// A line that is longer is none of openvpn's.
  private static let longestLine = 1 << 16

  /// The connection to our end of the management interface.
  private enum Channel {
    /// openvpn has not connected to the socket in this folder. The commands are sent when it does.
    case awaited(FileDescriptor, PrivateFolder, DescriptorLoop.Source, commands: [String])
    case connected(FileDescriptor, DescriptorLoop.Source?, unread: LineBuffer, unsent: [UInt8])
    /// openvpn has closed it. The end of the process follows.
    case closed
  }

  /// A process that has not ended, with its pipes.
  private struct Running {
    let process: Int32
    var exit: DescriptorLoop.Source?
    /// The rest of its configuration.
    var feeding: DescriptorLoop.Source?
    var hearing: DescriptorLoop.Source?
    var channel: Channel
  }

  private let loop: DescriptorLoop?
  private var running: Running?
  private var line: (ManagementLine) -> Void = { _ in }

  package init(host: ProviderHost) { loop = host.loop }

  deinit { kill() }

  package func start(
    _ configuration: String, device: String, line: @escaping (ManagementLine) -> Void, ended: @escaping (Int32) -> Void
  ) -> String? {
    kill()
    self.line = line
    guard let loop, let program = Self.programs.first(where: { access($0, X_OK) == 0 }) else {
      return "openvpn is not installed: apt install openvpn"
    }
    do throws(SystemError) {
      let folder = try PrivateFolder(Self.folders)
      let path = "\(folder.path)/management"
      let listener = try FileDescriptor.listen(at: path, mode: 0o600)
      var ends: [Int32] = [0, 0]
      guard clinux_pipe(&ends) == 0 else { throw .last("pipe") }
      let (input, output) = (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
      guard clinux_pipe(&ends) == 0 else { throw .last("pipe") }
      let (saying, said) = (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
      // Its ends block: it would take a pause of ours for the end of its configuration.
      for end in [input, said] { _ = fcntl(end.number, F_SETFL, fcntl(end.number, F_GETFL) & ~O_NONBLOCK) }
      let process = try SpawnedProgram(
        program, ["openvpn", "--config", "stdin"], environment: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
        descriptors: [.open(input), .open(said), .open(said)], company: .group, umask: 0o077
      ).start()
      let reading = try loop.whenReadable(listener.number) { [weak self] in self?.accept() }
      running = Running(process: process, channel: .awaited(listener, folder, reading, commands: ["state on", "log on"]))
      running?.hearing = try loop.whenReadable(saying.number) { [weak self] in self?.hear(saying) }
      running?.exit = try loop.onExit(of: process) { [weak self] code in
        // Its last words.
        self?.hear(saying)
        self?.running = nil
        ended(code)
      }
      running?.feeding = try feed(Array((Self.settings(path, device) + configuration).utf8), into: output, on: loop)
      return nil
    } catch {
      kill()
      running = nil
      return "\(program): \(error)"
    }
  }

  private static let folders = "roamward-openvpn-"

  /// The settings before the client's file; options of the file that would change them are left out (`ClientFile`).
  private static func settings(_ path: String, _ device: String) -> String {
    """
    management \(path) unix
    management-client
    management-hold
    management-query-passwords
    management-up-down
    ifconfig-noexec
    route-noexec
    auth-retry interact
    persist-tun
    persist-key
    disable-dco
    dev \(device)
    dev-type tun
    verb 3

    """
  }

  /// Writes the configuration, which may exceed what a pipe holds.
  private func feed(
    _ bytes: [UInt8], into output: FileDescriptor, on loop: DescriptorLoop
  ) throws(SystemError) -> DescriptorLoop.Source {
    _ = fcntl(output.number, F_SETFL, O_NONBLOCK)
    var rest = bytes[...]
    return try loop.whenWritable(output.number) { [weak self] in
      guard let count = try? output.write(rest.prefix(4096)) else {
        self?.running?.feeding = nil
        return
      }
      rest = rest.dropFirst(count)
      if rest.isEmpty { self?.running?.feeding = nil }
    }
  }

  /// Takes what it prints. Until it has connected, that is all that it says; from then on it says the same by its management interface.
  private func hear(_ saying: FileDescriptor) {
    guard let bytes = try? saying.read() else { return }
    guard !bytes.isEmpty else {
      running?.hearing = nil
      return
    }
    if case .connected = running?.channel { return }
    for text in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      // The line begins with the date: 2026-11-23 16:37:12.
      line(.log(String(text.first?.isNumber == true ? text.dropFirst(20) : text), isLoud: false))
    }
  }

  private func accept() {
    guard case .awaited(let listener, _, _, let commands) = running?.channel, let accepted = try? listener.accept() else { return }
    let reading = try? loop?.whenReadable(accepted.number) { [weak self] in self?.read() }
    running?.channel = .connected(accepted, reading, unread: LineBuffer(longest: Self.longestLine), unsent: [])
    for command in commands { send(command) }
  }

  private func read() {
    guard case .connected(let connection, let reading, let unread, let unsent) = running?.channel, let bytes = try? connection.read()
    else { return }
    guard !bytes.isEmpty else {
      running?.channel = .closed
      return
    }
    var rest = unread
    rest.append(bytes)
    let lines = rest.takeTexts()
    running?.channel = .connected(connection, reading, unread: rest, unsent: unsent)
    for text in lines { line(ManagementLine(text.hasSuffix("\r") ? text.dropLast() : text[...])) }
    if rest.isDropping { kill() }
  }

  package func send(_ command: String) {
    switch running?.channel {
    case .awaited(let listener, let folder, let reading, let commands):
      running?.channel = .awaited(listener, folder, reading, commands: commands + [command])
    case .connected(let connection, let reading, let unread, var unsent):
      unsent += Array("\(command)\n".utf8)
      while !unsent.isEmpty, let count = try? connection.write(unsent[...]), count > 0 { unsent.removeFirst(count) }
      running?.channel = .connected(connection, reading, unread: unread, unsent: unsent)
    case .closed, nil: break
    }
  }

  package func kill() { if let running { Glibc.kill(running.process, SIGKILL) } }
}
