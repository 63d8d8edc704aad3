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

  private let loop: DescriptorLoop?
  private var process: Int32 = 0
  private var listener: FileDescriptor?
  /// Of the listener's socket, while openvpn has not connected.
  private var folder: PrivateFolder?
  private var connection: FileDescriptor?
  private var exit: DescriptorLoop.Source?
  /// Of the listener, then of the connection.
  private var reading: DescriptorLoop.Source?
  private var feeding: DescriptorLoop.Source?
  private var hearing: DescriptorLoop.Source?
  private var unread: [UInt8] = []
  private var unsent: [UInt8] = []
  private var commands: [String] = []
  private var line: (ManagementLine) -> Void = { _ in }

  package init(host: ProviderHost) { loop = host.loop }

  deinit { kill() }

  package func start(
    _ configuration: String, device: String, line: @escaping (ManagementLine) -> Void, ended: @escaping (Int32) -> Void
  ) -> String? {
    kill()
    self.line = line
    (unread, unsent, commands) = ([], [], ["state on", "log on"])
    guard let loop, let program = Self.programs.first(where: { access($0, X_OK) == 0 }) else {
      return "openvpn is not installed: apt install openvpn"
    }
    do throws(SystemError) {
      let folder = try PrivateFolder(Self.folders)
      self.folder = folder
      let path = "\(folder.path)/management"
      let listener = try FileDescriptor.listen(at: path, mode: 0o600)
      self.listener = listener
      var ends: [Int32] = [0, 0]
      guard clinux_pipe(&ends) == 0 else { throw .last("pipe") }
      let (input, output) = (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
      guard clinux_pipe(&ends) == 0 else { throw .last("pipe") }
      let (saying, said) = (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
      // Its ends block: it would take a pause of ours for the end of its configuration.
      for end in [input, said] { _ = fcntl(end.number, F_SETFL, fcntl(end.number, F_GETFL) & ~O_NONBLOCK) }
      process = try SpawnedProgram(
        program, ["openvpn", "--config", "stdin"], environment: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
        descriptors: [.open(input), .open(said), .open(said)], company: .group, umask: 0o077
      ).start()
      hearing = try loop.whenReadable(saying.number) { [weak self] in self?.hear(saying) }
      reading = try loop.whenReadable(listener.number) { [weak self] in self?.accept() }
      exit = try loop.onExit(of: process) { [weak self] code in
        // Its last words.
        self?.hear(saying)
        self?.forget()
        ended(code)
      }
      try feed(Array((Self.settings(path, device) + configuration).utf8), into: output, on: loop)
      return nil
    } catch {
      forget()
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
  private func feed(_ bytes: [UInt8], into output: FileDescriptor, on loop: DescriptorLoop) throws(SystemError) {
    _ = fcntl(output.number, F_SETFL, O_NONBLOCK)
    var rest = bytes[...]
    feeding = try loop.whenWritable(output.number) { [weak self] in
      guard let count = try? output.write(rest.prefix(4096)) else {
        self?.feeding = nil
        return
      }
      rest = rest.dropFirst(count)
      if rest.isEmpty { self?.feeding = nil }
    }
  }

  /// Takes what it prints. Until it has connected, that is all that it says; from then on it says the same by its management interface.
  private func hear(_ saying: FileDescriptor) {
    guard let bytes = try? saying.read() else { return }
    guard !bytes.isEmpty else { return hearing = nil }
    if connection != nil { return }
    for text in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      // The line begins with the date: 2026-11-23 16:37:12.
      line(.log(String(text.first?.isNumber == true ? text.dropFirst(20) : text), isLoud: false))
    }
  }

  private func accept() {
    guard connection == nil, let accepted = try? listener?.accept() else { return }
    connection = accepted
    (listener, folder) = (nil, nil)
    reading = try? loop?.whenReadable(accepted.number) { [weak self] in self?.read() }
    for command in commands { send(command) }
    commands = []
  }

  private func read() {
    guard let bytes = try? connection?.read() else { return }
    guard !bytes.isEmpty else {
      // Its end follows.
      (connection, reading) = (nil, nil)
      return
    }
    unread += bytes
    while let end = unread.firstIndex(of: 10) {
      let text = String(decoding: unread[..<end], as: UTF8.self)
      unread.removeSubrange(...end)
      line(ManagementLine(text.hasSuffix("\r") ? text.dropLast() : text[...]))
    }
    if unread.count > Self.longestLine { kill() }
  }

  package func send(_ command: String) {
    guard let connection else { return commands.append(command) }
    unsent += Array("\(command)\n".utf8)
    while !unsent.isEmpty, let count = try? connection.write(unsent[...]), count > 0 { unsent.removeFirst(count) }
  }

  package func kill() {
    if process > 0 { Glibc.kill(process, SIGKILL) }
  }

  private func forget() {
    process = 0
    (listener, folder, connection, feeding, hearing, reading, exit) = (nil, nil, nil, nil, nil, nil, nil)
  }
}
