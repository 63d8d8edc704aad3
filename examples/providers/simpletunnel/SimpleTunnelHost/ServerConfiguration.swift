internal import NetworkTypes
internal import PolicyImport
package import SimpleTunnel

/// The configuration of a SimpleTunnel server: a property list as the sample's `config.plist`, in XML or binary.
///
/// `IPv4` has the `Pool` of addresses (`StartAddress`, `EndAddress`, both of them too) and the `Routes` of clients (`Address`, `Netmask`;
/// without it, all); `DNS` has `Servers` and `SearchDomains`.
package struct ServerConfiguration {
  /// The place that is wrong, with the cure.
  package struct Mistake: Error, CustomStringConvertible {
    package let description: String
  }

  /// The settings of each client, without its address.
  package let pushed: Configuration
  /// `nil`: the list has none, so there are no tunnels of IP packets.
  package let pool: AddressPool?

  package init(_ bytes: [UInt8]) throws(Mistake) {
    let root: Property
    do throws(ImportFailure) { root = try readPropertyList(bytes).root } catch { throw Mistake(description: "\(error)") }
    guard case .dictionary = root.content else { throw Mistake(description: "the property list is no dictionary: it has IPv4 and DNS") }
    let v4 = Self.member("IPv4", of: root)
    // The sample's pool is within `IPv4`.
    let pool = v4.flatMap { Self.member("Pool", of: $0) } ?? Self.member("Pool", of: root)
    self.pool = try pool.map { (pool) throws(Mistake) in
      let ends = try (Self.address("StartAddress", of: pool, in: "Pool"), Self.address("EndAddress", of: pool, in: "Pool"))
      guard let pool = AddressPool(from: ends.0, to: ends.1) else {
        throw Mistake(description: "Pool: StartAddress \(ends.0) is above EndAddress \(ends.1), or one of them is not IPv4")
      }
      return pool
    }
    var pushed = Configuration()
    if let routes = v4.flatMap({ Self.member("Routes", of: $0) }) {
      pushed.routes = []
      for item in try Self.items(routes, "IPv4.Routes") {
        let (base, mask) = try (Self.address("Address", of: item, in: "IPv4.Routes"), Self.address("Netmask", of: item, in: "IPv4.Routes"))
        guard let prefix = Configuration.prefix(base, mask: mask) else {
          throw Mistake(description: "IPv4.Routes: \(base) with Netmask \(mask) is no network; 255.255.255.0 is a mask")
        }
        pushed.routes?.append(prefix.description)
      }
    }
    if let dns = Self.member("DNS", of: root) {
      for item in try Self.member("Servers", of: dns).map({ (list) throws(Mistake) in try Self.items(list, "DNS.Servers") }) ?? [] {
        guard case .string(let text) = item.content, let server = IPAddress(text) else {
          throw Mistake(description: "DNS.Servers: each is a text with an address, such as 192.0.2.1")
        }
        pushed.servers.append(server.description)
      }
      for item in try Self.member("SearchDomains", of: dns).map({ (list) throws(Mistake) in try Self.items(list, "DNS.SearchDomains") })
        ?? []
      {
        guard case .string(let text) = item.content, let domain = DomainName(text) else {
          throw Mistake(description: "DNS.SearchDomains: each is a text with a domain, such as corp.example")
        }
        pushed.searchDomains.append(domain.text)
      }
    }
    self.pushed = pushed
  }

  private static func member(_ key: String, of property: Property) -> Property? {
    guard case .dictionary(let entries) = property.content else { return nil }
    return entries.first { $0.key == key }?.value
  }

  private static func items(_ property: Property, _ place: String) throws(Mistake) -> [Property] {
    guard case .array(let items) = property.content else { throw Mistake(description: "\(place) is an array") }
    return items
  }

  private static func address(_ key: String, of property: Property, in place: String) throws(Mistake) -> IPAddress {
    guard case .string(let text)? = member(key, of: property)?.content, let address = IPAddress(text), address.family == .v4 else {
      throw Mistake(description: "\(place): \(key) is a text with an IPv4 address, such as 192.0.2.2")
    }
    return address
  }
}
