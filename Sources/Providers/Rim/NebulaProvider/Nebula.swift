internal import JSON
internal import Lives
internal import NetworkTypes
internal import ProgramProvider
package import ProviderLife
package import ProviderProtocol
package import RoamwardProvider

/// nebula(1), as a provider sees it.
package protocol NebulaRunner: AnyObject {
  init(host: ProviderHost)
  /// Prints certificates as JSON. Calls back later with the output, or with the reason why there is none.
  func printCertificates(_ text: String, then: @escaping (Result<String, NebulaFailure>) -> Void)
  /// Tests whether these authorities, in PEM, vouch for a certificate now. Calls back later with the reason why not, or `nil`.
  func verify(_ certificate: String, by authorities: String, then: @escaping (NebulaFailure?) -> Void)
  /// Starts it with these files of configuration, by name. `said` and `ended` are called later; `ended` once, with its exit code.
  /// Returns the reason why it cannot be started.
  func start(_ files: [String: [UInt8]], said: @escaping (NebulaLine) -> Void, ended: @escaping (Int32) -> Void) -> String?
  /// It has read its files.
  func forgetFiles()
  func terminate()
  func kill()
}

package struct NebulaFailure: Error, Equatable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }
}

/// Nebula as a provider: nebula(1) on a device of the agent. It sets that device's address itself, and needs CAP_NET_ADMIN for it; routes
/// and name servers are the agent's.
package final class Nebula<Runner: NebulaRunner>: ProgramProvider {
  /// Without a handshake in this time there is no host to reach.
  private static var lull: Duration { .seconds(2) }
  /// The time in which some host has to answer.
  private static var patience: Duration { .seconds(30) }
  private static var standardMTU: Int { 1300 }

  package let host: ProviderHost
  package var life = ProgramLife<NebulaRun>()
  private let runner: Runner
  /// The host's certificate, as the last start has found it.
  private var certificate: NebulaCertificate?

  package init(host: ProviderHost) {
    self.host = host
    runner = Runner(host: host)
  }

  // MARK: The agent

  package func start(_ request: StartRequest) {
    let attempt = life.start()
    guard let config = host.credential("config") else {
      return fail("no-config", "the credential `config` is missing: name the configuration file, such as `config: nebula.yml`", .person)
    }
    var settings = NebulaSettings(device: "", mtu: request.options["mtu"]?.integer.flatMap { Int(exactly: $0) } ?? Self.standardMTU)
    for route in request.options["routes"]?.array ?? [] {
      guard let prefix = route["to"]?.string.flatMap({ IPPrefix($0) }), let via = route["via"]?.string.flatMap({ IPAddress($0) }) else {
        continue
      }
      settings.routes.append(.init(prefix, by: via))
    }
    for key in ["ca", "cert", "key"] {
      settings.credentials[key] = Word(key).flatMap { host.credential($0) }.map { String(decoding: $0, as: UTF8.self) }
    }
    let file: NebulaFile
    do throws(NebulaFile.Failure) { file = try NebulaFile(config, given: Set(settings.credentials.keys)) } catch {
      return fail("invalid-config", "\(error)", .person)
    }
    guard file.reachesHosts else {
      return fail(
        "no-hosts",
        "its configuration names no host that it could reach: add the lighthouse to `static_host_map` and `lighthouse.hosts`", .person)
    }
    let texts = [settings.credentials["cert"], settings.credentials["ca"], String(decoding: config, as: UTF8.self)].compactMap { $0 }
    let blocks = NebulaCertificate.blocks(in: texts.joined(separator: "\n"))
    guard !blocks.isEmpty else {
      return fail(
        "no-certificate",
        "its configuration has no certificate in it, and files that it names are not read; name them: `credentials: { ca: …, cert: …, key: … }`",
        .person)
    }
    runner.printCertificates(blocks.joined()) { [weak self] result in
      self?.take(result, of: blocks, attempt) { certificate in self?.open(attempt, file.text, settings, certificate) }
    }
  }

  /// Takes the certificates of a start as nebula-cert(1) has printed them. `then` gets the host's one, if it is valid.
  private func take(
    _ printed: Result<String, NebulaFailure>, of blocks: [String], _ attempt: LifeToken, then: @escaping (NebulaCertificate) -> Void
  ) {
    guard life.isPreparing(attempt) else { return }
    switch printed {
    case .failure(let failure): return fail("nebula-missing", failure.text, .person)
    case .success(let text): certificate = NebulaCertificate(printed: text, of: blocks)
    }
    guard let certificate else { return fail("invalid-certificate", "nebula-cert cannot read the host's certificate", .person) }
    for validity in certificate.validities { host.validity(validity) }
    // Nebula itself would start, and no host would answer.
    if certificate.authorities.isEmpty { return then(certificate) }
    runner.verify(certificate.text, by: certificate.authorities) { [weak self] failure in
      guard let self, life.isPreparing(attempt) else { return }
      if let failure { fail("invalid-certificate", failure.text, .person) } else { then(certificate) }
    }
  }

  private func open(_ attempt: LifeToken, _ config: String, _ settings: NebulaSettings, _ certificate: NebulaCertificate) {
    openDevice(attempt) { [weak self] device in
      var settings = settings
      settings.device = device
      let files = ["1-user.yml": Array("\(config)\n".utf8), "2-roamward.yml": Array(settings.text.utf8)]
      self?.launch(NebulaRun(settings: settings, certificate: certificate), missing: "nebula-missing") { process in
        self?.runner.start(files, said: { self?.take($0, from: process) }) { self?.ended(process, code: $0) }
      }
    }
  }

  package func leave(_ reason: StopReason) { runner.terminate() }

  package func kill() { runner.kill() }

  package func receive(_ message: MessageContent, reply: @escaping (MessageReply) -> Void) {
    let hosts = (life.program?.reached ?? []).sorted().prefix(1000).map { JSON.string($0) }
    let name = certificate.map { JSON.string($0.name) } ?? .null
    let expires = certificate.map { JSON.string($0.notAfter) } ?? .null
    let status: JSON = ["connected": .bool(life.isReady), "name": name, "certificate-expires": expires, "hosts": .array(hosts)]
    reply(answer(message, status: .success(.typed("status", status))))
  }

  // MARK: The program

  private func take(_ line: NebulaLine, from process: LifeToken) {
    if case .other(let words, let isLoud) = line { host.log(isLoud ? .warning : .debug, "nebula", words) }
    let isReady = life.isReady
    guard let hasPath = life.update(process, { $0.take(line, isReady: isReady) }) else { return }
    if line == .active { activated(process) }
    if let hasPath { judge(hasPath) }
  }

  private func activated(_ process: LifeToken) {
    runner.forgetFiles()
    if let settings = life.program?.tunnelSettings { apply(settings, for: process) }
    host.after(Self.lull) { [weak self] in
      guard let self, let hasPath = life.update(process, { $0.lullIsOver() }) else { return }
      judge(hasPath)
    }
    host.after(Self.patience) { [weak self] in
      guard let self, life.isRunning(process), !life.isReady else { return }
      fail("no-host", "no host of the overlay has answered within \(Self.patience.components.seconds) s", .time)
    }
  }

  private func judge(_ hasPath: Bool) {
    perform(hasPath ? life.found() : life.lost("no-host", "no host of the overlay answers"))
  }

  private func ended(_ process: LifeToken, code: Int32) {
    if let (program, wasReady) = ended(process) { fail(program.failure(code: code, wasReady: wasReady)) }
  }
}
