package import ControlProtocol
internal import JSON
internal import KernelModel
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

// A window in the kill switch for the page at which a person signs in (docs/decisions/0068-a-window-for-a-sign-in.md).
extension Agent {
  /// Opens it once the names are resolved: for one control group, to the web server of the page that the tunnel's provider shows, and to
  /// those that the request names.
  package func openSignIn(of tunnel: String, _ request: ReleaseRequest, then done: @escaping (Reply) -> Void) {
    func refuse(_ message: String) { done(.refused(RequestError(code: .failed, message: message))) }
    guard state.set.tunnel(named: tunnel) != nil else { return done(.refused(noSuchTunnel(tunnel))) }
    guard request.programs != nil, request.isPortal else { return refuse("a window for a sign-in is for one program; name it with --only") }
    guard let page = state.tunnels[tunnel]?.installed?.questions.first(where: { $0.question.kind == .url })?.question.url,
      let parts = URLParts(page)
    else { return refuse("\(tunnel) shows no page at which a person signs in; `roamward status` says what it waits for") }
    let host: Endpoint.Host =
      switch parts.host {
      case .name(let name): .name(name)
      case .address(let address): .address(address)
      }
    var wanted = [WantedEndpoint(host, port: parts.port)]
    do throws(RequestError) {
      for text in request.hosts ?? [] { wanted.append(try WantedEndpoint(text)) }
    } catch { return done(.refused(error)) }
    // The browser asks them too.
    awaitNameServers { [weak self] in
      guard let self else { return }
      GuardedNames(wanted).resolve(platform.network, on: lastSnapshot.primaryLink) { [weak self] result in
        do throws(RequestError) {
          let sites = try result.get()
          try self?.release(request, signIn: FirewallRelease.SignIn(tunnel, at: sites))
          done(.done(["sites": .array(sites.map { .string($0.description) })]))
        } catch { done(.refused(error)) }
      }
    }
  }
}
