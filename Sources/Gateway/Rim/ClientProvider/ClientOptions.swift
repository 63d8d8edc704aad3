internal import Glibc
package import JSON
package import NetworkTypes

/// The options of a tunnel to a gateway, as its policy has them.
package struct ClientOptions: Equatable {
  /// The endpoint of the gateway's logins.
  package let server: Endpoint
  /// The key by which it is known: `sha256//…` (docs/wire-format.md).
  package let pin: String
  /// `nil`: the login is by a token.
  package let username: String?
  package let device: String
  package let transport: TransportMachine.Preference
  /// Which of several gateways is used.
  package let gateway: SiteMachine.Preference

  /// `nil` if they do not fit the manifest. `hostName`: the device's name if the options have none.
  package init?(_ options: JSON, hostName: @autoclosure () -> String = ClientOptions.hostName) {
    guard let server = options["server"]?.string.flatMap({ Endpoint($0) }), let pin = options["pin"]?.string else { return nil }
    self.server = server
    self.pin = pin
    username = options["username"]?.string
    device = options["device"]?.string ?? hostName()
    transport = options["transport"]?.string.flatMap { TransportMachine.Preference(rawValue: $0) } ?? .auto
    let gateway = options["gateway"]?.string?.lowercased() ?? "nearest"
    self.gateway = gateway == "nearest" ? .nearest : .named(gateway)
  }

  /// The identity of a login: a kept login with another one is not used with these options.
  var identity: String { [server.description, pin, username ?? "", device].joined(separator: "\n") }

  package static var hostName: String {
    var name = [CChar](repeating: 0, count: 65)
    guard gethostname(&name, 64) == 0 else { return "device" }
    let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return text.isEmpty ? "device" : text
  }
}
