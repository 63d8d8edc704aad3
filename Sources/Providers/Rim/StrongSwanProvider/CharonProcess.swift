internal import CLinux
internal import CXFRM
internal import Glibc
internal import LinuxIO
package import ProviderProtocol
package import RoamwardProvider
package import VICI

/// A process of charon, strongSwan's daemon, of this tunnel alone: its configuration and its vici socket are in a folder of this program.
package final class CharonProcess: CharonRunner {
  private static let programs = ["/usr/sbin/charon-systemd", "/usr/libexec/strongswan/charon-systemd", "/usr/libexec/ipsec/charon"]
  /// Of Debian and its relatives, and of Fedora and its.
  private static let authorityFiles = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"]
  private static let folders = "roamward-strongswan-"
  private static let longestLine = 1 << 16

  private let host: ProviderHost
  private var process: Int32 = 0
  private var link: XFRMLink?
  private var folder: PrivateFolder?
  private var connection: FileDescriptor?
  private var sources: [DescriptorLoop.Source] = []
  private var writing: DescriptorLoop.Source?
  private var saying: FileDescriptor?
  private var unread = LineBuffer(longest: longestLine)
  private var unsent: [UInt8] = []
  private var reader = VICIReader()
  private var events: (CharonEvent) -> Void = { _ in }

  package static var authorities: [UInt8]? {
    authorityFiles.lazy.compactMap { try? TextFile.read($0, limit: 8 << 20) }.first
  }

  package init(host: ProviderHost) { self.host = host }

  deinit { kill() }

  package func start(on link: XFRMLink, events: @escaping (CharonEvent) -> Void) -> String? {
    kill()
    self.events = events
    self.link = link
    (unread, unsent, reader, connection) = (LineBuffer(longest: Self.longestLine), [], VICIReader(), nil)
    guard let loop = host.loop, let program = Self.programs.first(where: { access($0, X_OK) == 0 }) else {
      return "charon is not installed: apt install charon-systemd"
    }
    // State that a killed charon has left would carry packets with keys of no session.
    _ = cxfrm_remove(link.identifier)
    do throws(SystemError) {
      let folder = try PrivateFolder(Self.folders)
      try TextFile.create(
        "\(folder.path)/strongswan.conf", with: Array(CharonConfiguration(folder: folder.path, link: link).text.utf8), mode: 0o600)
      self.folder = folder
      var ends: [Int32] = [0, 0]
      guard clinux_pipe(&ends) == 0 else { throw .last("pipe") }
      let (saying, said) = (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
      _ = fcntl(said.number, F_SETFL, fcntl(said.number, F_GETFL) & ~O_NONBLOCK)
      process = try SpawnedProgram(
        program, [program], environment: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "STRONGSWAN_CONF=\(folder.path)/strongswan.conf"],
        descriptors: [.nothing, .open(said), .open(said)], company: .group, umask: 0o077
      ).start()
      self.saying = saying
      sources = [
        try loop.whenReadable(saying.number) { [weak self] in self?.hear() },
        try loop.onExit(of: process) { [weak self] code in self?.ended(code) },
      ]
      connect()
      return nil
    } catch {
      kill()
      return "\(program): \(error)"
    }
  }

  /// charon makes its socket when its plugins are loaded.
  private func connect() {
    guard process > 0, connection == nil, let loop = host.loop, let path = folder?.path else { return }
    guard let connected = try? FileDescriptor.connect(to: "\(path)/vici", nonBlocking: true) else {
      host.after(.milliseconds(20)) { [weak self] in self?.connect() }
      return
    }
    connection = connected
    if let source = try? loop.whenReadable(connected.number, { [weak self] in self?.read() }) { sources.append(source) }
    events(.connected)
  }

  private func hear() {
    while let bytes = try? saying?.read(), !bytes.isEmpty {
      unread.append(bytes)
      for line in unread.takeTexts() { events(.line(CharonLine(line[...]))) }
    }
  }

  private func read() {
    // The lines that were written before a packet come before it.
    hear()
    guard let bytes = try? connection?.read(), !bytes.isEmpty else { return }
    reader.append(bytes)
    do throws(VICIError) {
      while let packet = try reader.next() { events(.packet(packet)) }
    } catch {
      events(.line(.other("vici cannot be read: \(error)")))
      kill()
    }
  }

  package func send(_ packet: VICIPacket) {
    guard let bytes = try? packet.encoded() else { return kill() }
    unsent += bytes
    flush()
  }

  private func flush() {
    while !unsent.isEmpty, let count = try? connection?.write(unsent[...]), count > 0 { unsent.removeFirst(count) }
    guard !unsent.isEmpty, let connection, let loop = host.loop else { return writing = nil }
    if writing == nil { writing = try? loop.whenWritable(connection.number) { [weak self] in self?.flush() } }
  }

  package func terminate() { if process > 0 { Glibc.kill(process, SIGTERM) } }

  package func kill() { if process > 0 { Glibc.kill(process, SIGKILL) } }

  private func ended(_ code: Int32) {
    hear()
    process = 0
    (sources, writing, connection, saying, folder) = ([], nil, nil, nil, nil)
    if let link { _ = cxfrm_remove(link.identifier) }
    events(.ended(code))
  }
}
