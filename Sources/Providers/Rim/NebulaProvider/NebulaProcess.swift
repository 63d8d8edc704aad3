internal import CLinux
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
package import RoamwardProvider

/// A process of nebula(1), and the folder with its configuration, which is there only while nebula reads it.
package final class NebulaProcess: NebulaRunner {
  private static let folders = "roamward-nebula-"
  /// A line that is longer is none of nebula's.
  private static let longestLine = 1 << 16

  private let loop: DescriptorLoop?
  private var process: Int32 = 0
  private var folder: PrivateFolder?
  private var sources: [DescriptorLoop.Source] = []
  private var unread = LineBuffer(longest: longestLine)
  private var said: (NebulaLine) -> Void = { _ in }

  package init(host: ProviderHost) { loop = host.loop }

  deinit { kill() }

  package func printCertificates(_ text: String, then: @escaping (Result<String, NebulaFailure>) -> Void) {
    var output: [UInt8] = []
    do throws(SystemError) {
      let folder = try PrivateFolder(Self.folders, ["certificates": Array(text.utf8)])
      try run("nebula-cert", ["print", "-json", "-path", "\(folder.path)/certificates"]) {
        output += $0
      } ended: { code in
        withExtendedLifetime(folder) {}
        let words = String(decoding: output, as: UTF8.self)
        then(code == 0 ? .success(words) : .failure(NebulaFailure("nebula-cert: \(words.prefix(300))")))
      }
    } catch {
      then(.failure(NebulaFailure(Self.words(error))))
    }
  }

  package func verify(_ certificate: String, by authorities: String, then: @escaping (NebulaFailure?) -> Void) {
    var output: [UInt8] = []
    do throws(SystemError) {
      let folder = try PrivateFolder(Self.folders, ["host": Array(certificate.utf8), "authorities": Array(authorities.utf8)])
      try run("nebula-cert", ["verify", "-ca", "\(folder.path)/authorities", "-crt", "\(folder.path)/host"]) {
        output += $0
      } ended: { code in
        withExtendedLifetime(folder) {}
        let words = String(decoding: output.prefix(300), as: UTF8.self).split(separator: "\n").first ?? "status \(code)"
        then(code == 0 ? nil : NebulaFailure("its certificate is not valid: \(words)"))
      }
    } catch {
      then(NebulaFailure(Self.words(error)))
    }
  }

  package func start(_ files: [String: [UInt8]], said: @escaping (NebulaLine) -> Void, ended: @escaping (Int32) -> Void) -> String? {
    self.said = said
    unread = LineBuffer(longest: Self.longestLine)
    do throws(SystemError) {
      let folder = try PrivateFolder(Self.folders, files)
      self.folder = folder
      try run("nebula", ["-config", folder.path]) { [weak self] in
        self?.take($0)
      } ended: { [weak self] code in
        self?.folder = nil
        ended(code)
      }
      return nil
    } catch {
      folder = nil
      return Self.words(error)
    }
  }

  private static func words(_ error: SystemError) -> String {
    error.code == ENOENT ? "nebula is not installed: apt install nebula" : "\(error)"
  }

  private static func places(of name: String) -> [String] { ["/usr/bin/\(name)", "/usr/local/bin/\(name)"] }

  /// Starts a program with one pipe for what it prints.
  private func run(
    _ name: String, _ arguments: [String], heard: @escaping ([UInt8]) -> Void, ended: @escaping (Int32) -> Void
  ) throws(SystemError) {
    kill()
    sources = []
    guard let loop, let program = Self.places(of: name).first(where: { access($0, X_OK) == 0 }) else {
      throw SystemError(code: ENOENT, operation: "start \(name)")
    }
    var ends: [Int32] = [0, 0]
    guard clinux_pipe(&ends) == 0 else { throw .last("pipe") }
    let (saying, words) = (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
    _ = fcntl(words.number, F_SETFL, fcntl(words.number, F_GETFL) & ~O_NONBLOCK)
    process = try SpawnedProgram(
      program, [name] + arguments, environment: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
      descriptors: [.nothing, .open(words), .open(words)], company: .group, umask: 0o077
    ).start()
    let hear = { while let bytes = try? saying.read(), !bytes.isEmpty { heard(bytes) } }
    sources = [
      try loop.whenReadable(saying.number) { hear() },
      try loop.onExit(of: process) { [weak self] code in
        // Its last words.
        hear()
        self?.process = 0
        self?.sources = []
        ended(code)
      },
    ]
  }

  private func take(_ bytes: [UInt8]) {
    unread.append(bytes)
    for line in unread.takeTexts() { said(NebulaLine(line[...])) }
  }

  package func forgetFiles() { folder = nil }
  package func terminate() { signal(SIGTERM) }
  package func kill() { signal(SIGKILL) }

  private func signal(_ number: Int32) { if process > 0 { Glibc.kill(process, number) } }
}
