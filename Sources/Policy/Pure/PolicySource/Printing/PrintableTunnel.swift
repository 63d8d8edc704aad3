package import NetworkTypes
package import RoamwardCore

/// A tunnel for output in a policy file. Unlike a `TunnelPolicy` it names its wg-quick file without having read it.
package struct PrintableTunnel: Equatable, Sendable {
  package enum Provider: Equatable, Sendable {
    /// The wg-quick file, as the policy names it: a relative path starts at the policy's folder.
    case wireGuard(config: String)
    case command(CommandProviderConfiguration)
    case installed(InstalledProviderConfiguration)
    case service(ServiceProviderConfiguration)
  }

  package var name: String
  package var about: String?
  package var isEnabled: Bool
  /// The name of the user that it belongs to.
  package var owner: UserName?
  package var precedence: TunnelClass
  package var provider: Provider
  /// The name of the tunnel that carries this one's own packets.
  package var through: String?
  package var onDemand: OnDemand
  package var routes: RoutePolicy?
  package var dns: DNSPolicy?
  package var mtu: MTUPolicy?
  package var proxy: ProxyPolicy?
  package var apps: AppsPolicy?
  package var killSwitch: KillSwitch
  package var includesAllNetworks: Bool
  package var disconnectsOnSleep: Bool

  package init(
    name: String, about: String? = nil, isEnabled: Bool = true, precedence: TunnelClass = .personal, provider: Provider,
    through: String? = nil, onDemand: OnDemand = OnDemand(), routes: RoutePolicy? = nil, dns: DNSPolicy? = nil, mtu: MTUPolicy? = nil,
    proxy: ProxyPolicy? = nil,
    killSwitch: KillSwitch = .off, includesAllNetworks: Bool = false, disconnectsOnSleep: Bool = false
  ) {
    self.name = name
    self.about = about
    self.isEnabled = isEnabled
    self.precedence = precedence
    self.provider = provider
    self.through = through
    self.onDemand = onDemand
    self.routes = routes
    self.dns = dns
    self.mtu = mtu
    self.proxy = proxy
    self.killSwitch = killSwitch
    self.includesAllNetworks = includesAllNetworks
    self.disconnectsOnSleep = disconnectsOnSleep
  }

  /// A tunnel that was read, with the absolute path of its wg-quick file.
  package init(_ policy: TunnelPolicy) {
    let provider: Provider =
      switch policy.provider {
      case .wireGuard(let wireGuard): .wireGuard(config: wireGuard.path)
      case .command(let command): .command(command)
      case .service(let service): .service(service)
      case .installed(let installed): .installed(installed)
      }
    self.init(
      name: policy.name, about: policy.about, isEnabled: policy.availability.isEnabled, precedence: policy.precedence, provider: provider,
      through: policy.through?.name, onDemand: policy.onDemand, routes: policy.routes, dns: policy.dns, mtu: policy.mtu,
      proxy: policy.proxy,
      killSwitch: policy.killSwitch, includesAllNetworks: policy.includesAllNetworks,
      disconnectsOnSleep: policy.disconnectsOnSleep)
    apps = policy.apps
    owner = policy.availability.owner
  }
}
