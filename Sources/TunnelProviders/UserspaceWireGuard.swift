internal import CSodium
package import LinuxIO
package import RoamwardCore
internal import Wire

/// WireGuard links by Debian's `wireguard-go`, for kernels that have none of their own.
///
/// Each link has its daemon, which makes the link, leaves the agent behind, and lives exactly as long as the link and its socket do: it
/// ends by itself when either is removed, so a new agent needs no more than the link's name to be rid of it. In a container whose
/// process 1 collects no orphans its entry in the process table stays; run such a container with an init.
package final class UserspaceWireGuard {
  private let loop: EventLoop
  private let program: String
  private let socketDirectory: String
  private var starts: [String: EngineStart] = [:]
  private var stops: [String: EngineStop] = [:]

  /// `socketDirectory` is fixed in wireguard-go; another one is for tests.
  package init(on loop: EventLoop, program: String = "wireguard-go", socketDirectory: String = "/var/run/wireguard") {
    self.loop = loop
    self.program = program
    self.socketDirectory = socketDirectory
  }

  /// Where the engine of a link listens, with the usual folder.
  package static func socketPath(of link: String) -> String { "/var/run/wireguard/\(link).sock" }

  /// Makes the link, down and without a configuration. Calls back, never from within this call, once the engine has answered a first
  /// question; with an error after ten seconds at most, and then what there may be of the link is to be ended by `stop`. An ending of the
  /// same link that is under way is waited for.
  package func start(link: String, then: @escaping (Result<Void, ProviderError>) -> Void) {
    if let stop = stops[link] {
      stop.afterwards.append { [weak self] in self?.start(link: link, then: then) }
      return
    }
    starts[link]?.abandon()
    starts[link] = EngineStart(program, link: link, UAPISocket(link: link, in: socketDirectory), on: loop) { [weak self] result in
      self?.starts[link] = nil
      then(result)
    }
  }

  /// Ends the engine, and with it the link, by removing the socket, started by this agent or an earlier one. Whatever is gone already is as good.
  /// Calls back, never from within this call, when both are gone; with an error after three seconds at most.
  package func stop(link: String, then: @escaping (Result<Void, ProviderError>) -> Void = { _ in }) {
    if let abandoned = starts.removeValue(forKey: link) { abandoned.abandon() }
    if let stop = stops[link] { return stop.observers.append(then) }
    stops[link] = EngineStop(link: link, UAPISocket(link: link, in: socketDirectory), on: loop) { [weak self] result in
      guard let stop = self?.stops.removeValue(forKey: link) else { return }
      for observer in [then] + stop.observers { observer(result) }
      for next in stop.afterwards { next() }
    }
  }

  /// Whether an engine listens for this link.
  package func isRunning(_ link: String) -> Bool {
    ((try? UAPISocket(link: link, in: socketDirectory)?.connect()) ?? nil) != nil
  }

  /// What the engine knows of its device; `nil` where none runs. Waits for the answer, a second at most, as the following do.
  package func read(_ link: String) throws(ProviderError) -> WireGuardState? {
    guard let reply = try UAPISocket(link: link, in: socketDirectory)?.ask(UAPIRequest.get) else { return nil }
    do throws(UAPIReply.Failure) {
      return try reply.state(publicKey: publicKey)
    } catch {
      throw ProviderError("wireguard-go for \(link): \(error)")
    }
  }

  /// Makes the device as wanted. Sessions of peers that stay as `observed` go on; without `observed`, every session begins anew.
  package func configure(
    _ link: String, _ device: WireGuardDevice, observed: WireGuardState?, settingEndpoints: Bool = false
  ) throws(ProviderError) {
    guard let request = UAPIRequest.configure(device, observed: observed, settingEndpoints: settingEndpoints) else { return }
    try set(link, request)
  }

  /// Sets the keepalive of each of these peers, and its endpoint where one is given.
  package func setEndpointsAndKeepalives(_ link: String, _ peers: [WireGuardPeer]) throws(ProviderError) {
    if !peers.isEmpty { try set(link, UAPIRequest.refresh(peers)) }
  }

  private func set(_ link: String, _ request: String) throws(ProviderError) {
    guard let reply = try UAPISocket(link: link, in: socketDirectory)?.ask(request) else {
      throw ProviderError("no wireguard-go runs for \(link)")
    }
    do throws(UAPIReply.Failure) { try reply.check() } catch { throw ProviderError("wireguard-go for \(link): \(error)") }
  }
}

/// X25519 of the key and the base point (RFC 7748).
private func publicKey(of secret: WireGuardKey) -> WireGuardKey? {
  var result = [UInt8](repeating: 0, count: 32)
  return crypto_scalarmult_base(&result, secret.bytes) == 0 ? WireGuardKey(bytes: result) : nil
}
