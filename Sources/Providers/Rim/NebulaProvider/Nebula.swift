internal import JSON
internal import NetworkTypes
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
package final class Nebula<Runner: NebulaRunner>: TunnelProvider {
  /// Without a handshake in this time there is no host to reach.
  private static var lull: Duration { .seconds(2) }
  /// The time in which some host has to answer.
  private static var patience: Duration { .seconds(30) }
  private static var standardMTU: Int { 1300 }

  private let host: ProviderHost
  private let runner: Runner
  private var certificate: NebulaCertificate?
  private var settings: NebulaSettings?
  private var config = ""
  private var isProcessRunning = false
  private var isLeaving = false
  private var areSettingsApplied = false
  private var isReady = false
  private var wantsHost = false
  private var isLullOver = false
  /// Hosts of the overlay with a tunnel.
  private var reached: Set<String> = []
  private var lastWords = ""

  package init(host: ProviderHost) {
    self.host = host
    runner = Runner(host: host)
  }

  // MARK: The agent

  package func start(_ request: StartRequest) {
    (isLeaving, areSettingsApplied, isReady, wantsHost, isLullOver, reached, lastWords) = (false, false, false, false, false, [], "")
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
    do throws(NebulaFile.Failure) {
      let file = try NebulaFile(config, given: Set(settings.credentials.keys))
      guard file.reachesHosts else {
        return fail(
          "no-hosts",
          "its configuration names no host that it could reach: add the lighthouse to `static_host_map` and `lighthouse.hosts`", .person)
      }
      self.config = file.text
    } catch {
      return fail("invalid-config", "\(error)", .person)
    }
    let texts = [settings.credentials["cert"], settings.credentials["ca"], String(decoding: config, as: UTF8.self)].compactMap { $0 }
    let blocks = NebulaCertificate.blocks(in: texts.joined(separator: "\n"))
    guard !blocks.isEmpty else {
      return fail(
        "no-certificate",
        "its configuration has no certificate in it, and files that it names are not read; name them: `credentials: { ca: …, cert: …, key: … }`",
        .person)
    }
    runner.printCertificates(blocks.joined()) { [weak self] result in self?.take(result, of: blocks, settings) }
  }

  private func take(_ printed: Result<String, NebulaFailure>, of blocks: [String], _ settings: NebulaSettings) {
    switch printed {
    case .failure(let failure): return fail("nebula-missing", failure.text, .person)
    case .success(let text): certificate = NebulaCertificate(printed: text, of: blocks)
    }
    guard let certificate else { return fail("invalid-certificate", "nebula-cert cannot read the host's certificate", .person) }
    for validity in certificate.validities { host.validity(validity) }
    // Nebula itself would start, and no host would answer.
    if certificate.authorities.isEmpty { return openDevice(settings) }
    runner.verify(certificate.text, by: certificate.authorities) { [weak self] failure in
      if let failure { self?.fail("invalid-certificate", failure.text, .person) } else { self?.openDevice(settings) }
    }
  }

  private func openDevice(_ settings: NebulaSettings) {
    host.openDevice { [weak self] result in
      switch result {
      case .failure(let refusal): self?.fail(refusal.code, refusal.text, .time)
      case .success(let flow):
        // A device takes one program at a time: nebula attaches to it by its name.
        (flow as? any ClosableFlow)?.close()
        var settings = settings
        settings.device = flow.interface
        self?.startProcess(settings)
      }
    }
  }

  private func startProcess(_ settings: NebulaSettings) {
    self.settings = settings
    let files = ["1-user.yml": Array("\(config)\n".utf8), "2-roamward.yml": Array(settings.text.utf8)]
    let failure = runner.start(files, said: { [weak self] in self?.take($0) }) { [weak self] code in self?.ended(code) }
    if let failure { return fail("nebula-missing", failure, .person) }
    isProcessRunning = true
  }

  package func stop(_ reason: StopReason) {
    isLeaving = true
    guard isProcessRunning else { return host.stopped() }
    runner.terminate()
    host.after(.seconds(5)) { [weak self] in self?.runner.kill() }
  }

  package func receive(_ message: MessageContent, reply: @escaping (MessageReply) -> Void) {
    guard case .typed("status", _) = message else {
      return reply(.failure(Refusal(code: "unknown-type", text: "this provider knows `status`")))
    }
    let hosts = reached.sorted().prefix(1000).map { JSON.string($0) }
    let name = certificate.map { JSON.string($0.name) } ?? .null
    let expires = certificate.map { JSON.string($0.notAfter) } ?? .null
    reply(.success(.typed("status", ["connected": .bool(isReady), "name": name, "certificate-expires": expires, "hosts": .array(hosts)])))
  }

  private func fail(_ code: Word, _ text: String, _ help: TunnelFailure.Help) {
    runner.kill()
    host.fail(TunnelFailure(code: code, text: "\(host.tunnel): \(text)", help: help))
  }

  // MARK: What nebula says

  private func take(_ line: NebulaLine) {
    switch line {
    case .active:
      runner.forgetFiles()
      apply()
      host.after(Self.lull) { [weak self] in
        self?.isLullOver = true
        self?.judge()
      }
      host.after(Self.patience) { [weak self] in
        guard let self, !isReady else { return }
        fail("no-host", "no host of the overlay has answered within \(Self.patience.components.seconds) s", .time)
      }
    case .wanting: wantsHost = true
    case .reached(let name):
      if reached.count < 100_000 { reached.insert(name) }
      judge()
    case .lost(let name):
      reached.remove(name)
      judge()
    case .other(let words, let isLoud):
      if isLoud { lastWords = words }
      host.log(isLoud ? .warning : .debug, "nebula", words)
    }
  }

  private func apply() {
    guard let certificate, let settings else { return }
    var wanted = TunnelSettings(addresses: certificate.addresses)
    wanted.mtu = settings.mtu
    wanted.includedRoutes = (certificate.addresses.map(\.onLinkPrefix) + settings.routes.map(\.prefix)).uniqued()
    host.apply(wanted) { [weak self] result in
      switch result {
      case .success(let refused):
        for setting in refused { self?.host.log(.notice, "settings", "refused: \(setting.setting) \(setting.value) (\(setting.code))") }
        self?.areSettingsApplied = true
        self?.judge()
      case .failure(let refusal): self?.fail(refusal.code, refusal.text, .time)
      }
    }
  }

  /// Whether packets go anywhere: a host is reached, or there is none that it wants to reach.
  private func judge() {
    guard areSettingsApplied else { return }
    let carries = !reached.isEmpty || isLullOver && !wantsHost
    if carries, !isReady {
      isReady = true
      host.ready()
    } else if !carries, isReady {
      isReady = false
      host.reasserting("no-host", "no host of the overlay answers")
    }
  }

  private func ended(_ code: Int32) {
    isProcessRunning = false
    if isLeaving { return host.stopped() }
    let words = lastWords.isEmpty ? "with status \(code)" : "(\(lastWords))"
    // 1: what it was given is wrong, unless its device changed while it was set, or a killed nebula still has it. All else is a crash, or a
    // signal of another program.
    let isWrong = code == 1 && !isReady && !Self.isOfDevice(lastWords)
    fail("nebula-ended", "nebula ended \(words); see its log", isWrong ? .person : .time)
  }

  /// Whether its last words are about its device: nebula(1) begins those with one of these steps.
  private static func isOfDevice(_ words: String) -> Bool {
    let steps = ["set tun", "set mtu", "bring the tun", "run tun", "get tun", "get a tun"]
    let text = words.lowercased()
    return text.contains("device or resource busy") || steps.contains { text.contains("failed to \($0)") }
  }
}
