package import ControlProtocol
internal import JSON
internal import KernelModel
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

// A window in the kill switch for the page at which a person signs in (docs/decisions/0061).
extension Agent {
  /// Opens it once the names are resolved: for one control group, to the web server of the page that the tunnel's provider shows, to those
  /// that the request names, and to those of the policy. Of these last ones, names without an address are left out.
  package func openSignIn(of tunnel: String, _ request: ReleaseRequest, then done: @escaping (Reply) -> Void) {
    func refuse(_ message: String) { done(.refused(RequestError(code: .failed, message: message))) }
    guard let policy = state.set.tunnel(named: tunnel) else { return done(.refused(state.policies.noSuchTunnel(tunnel))) }
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
    wanted += policy.signInHosts.map { WantedEndpoint($0.host, port: $0.port, isNeeded: false) }
    // The browser asks them too.
    GuardedNames(wanted).resolve(platform.lookups, on: lastSnapshot.primaryLink, needsServers: true) { [weak self] result in
      do throws(RequestError) {
        let found = try result.get()
        try self?.release(request, signIn: KillSwitchSuspension.SignIn(tunnel, at: found.endpoints))
        let sites = JSON.array(found.endpoints.map { .string($0.description) })
        done(.done(["sites": sites, "left-out": .array(found.leftOut.map { .string($0) })]))
      } catch { done(.refused(error)) }
    }
  }
}
