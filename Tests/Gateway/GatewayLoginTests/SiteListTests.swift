import LoginProtocol
import NetworkTypes
import Testing

@Suite("The list of gateways") struct SiteListTests {
  static let sites = ["paris", "lyon"].enumerated().map { index, name in
    GatewaySite(
      name: name, key: [UInt8](repeating: UInt8(index + 1), count: 32), endpoint: "192.0.2.\(index + 1):51820",
      pin: index == 0 ? [UInt8](repeating: 9, count: 32) : [], relayPort: index == 0 ? 443 : nil,
      addresses: ["10.77.\(index).2", "fd77::\(index):2"].compactMap { IPAddress($0) },
      gatewayAddresses: ["10.77.\(index).1"].compactMap { IPAddress($0) })
  }

  static var grant: LoginGrant {
    var grant = GatewayLoginTests.grant
    (grant.sites, grant.gatewayKey) = (sites, sites[0].key)
    return grant
  }

  private func read(_ value: [UInt8]) throws -> [GatewaySite] {
    var frame = GatewayLoginTests.grant.frame(0x83)
    frame.add(14, value)
    guard case .done(let grant) = try GatewayMessage(frame) else { return [] }
    return grant.sites
  }

  @Test("its bytes are those of docs/wire-format.md, in DONE and behind the number of a push") func bytes() throws {
    let site = GatewaySite(
      name: "lyon", key: [UInt8](repeating: 7, count: 32), endpoint: "192.0.2.2:51820",
      addresses: ["10.77.1.2"].compactMap { IPAddress($0) }, gatewayAddresses: ["10.77.1.1"].compactMap { IPAddress($0) })
    var grant = GatewayLoginTests.grant
    grant.sites = [site]
    let entry: [UInt8] =
      [UInt8](repeating: 7, count: 32) + [0, 0, 4] + Array("lyon".utf8) + [15] + Array("192.0.2.2:51820".utf8) + [0]
      + [5, 4, 10, 77, 1, 2, 5, 4, 10, 77, 1, 1]
    let field = [14, 0, UInt8(entry.count + 2), 0, UInt8(entry.count)] + entry
    #expect(entry.count == 68)
    #expect(grant.frame(0x83).bytes.suffix(field.count) == field[...])
    let push = SettingsPush(number: 1, grant).frame
    #expect(push.bytes.suffix(field.count + 11) == ([13, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1] + field)[...])
    #expect(try LoginFrame(body: push.bytes.dropFirst(2)) == push)
    #expect(try GatewayMessage(grant.frame(0x83)) == .done(grant))
  }

  @Test("a device at another gateway has its key, endpoint, addresses and relay, and the list") func other() {
    let grant = Self.grant
    #expect(grant.site?.name == "paris")
    let other = grant.at(Self.sites[1])
    #expect(other.site?.name == "lyon" && other.endpoint == "192.0.2.2:51820" && other.relayPort == nil && other.sites == grant.sites)
    #expect(other.addresses.map(\.description) == ["10.77.1.2", "fd77::1:2"] && other.routes == grant.routes)
    #expect(other.at(Self.sites[0]).relayPort == 443)
  }

  @Test("an entry of a later version may be longer; a damaged one, a ninth one and a short one are refused") func reading() throws {
    let value = Array(Self.grant.frame(0x83)[14] ?? [])
    #expect(try read(value) == Self.sites)
    let first = Int(value[0]) << 8 | Int(value[1])
    var longer = value
    longer.insert(contentsOf: [1, 2, 3], at: 2 + first)
    longer[1] += 3
    #expect(try read(longer) == Self.sites)
    for count in 1..<value.count where count != 2 + first {
      #expect(throws: LoginFrameError.field) { try read(Array(value.prefix(count))) }
    }
    let one = Array(value[(2 + first)...])
    #expect(try read(Array(repeating: one, count: 8).flatMap { $0 }).count == 8)
    #expect(throws: LoginFrameError.field) { try read(Array(repeating: one, count: 9).flatMap { $0 }) }
    // A pin of another length.
    var wrong = value
    wrong[2 + 32 + 2 + 1 + 5 + 1 + 15] = 31
    #expect(throws: LoginFrameError.field) { try read(wrong) }
  }

  @Test("as many gateways are listed as a frame holds, with room for a relay's port") func fitting() {
    var grant = Self.grant
    grant.sites = (0..<8).map { index in
      var site = Self.sites[0]
      site.key[0] = UInt8(index)
      return site
    }
    let fitted = grant.fitted
    #expect((5...8).contains(fitted.sites.count) && fitted.sites == Array(grant.sites.prefix(fitted.sites.count)))
    var relayed = fitted
    relayed.relayPort = 443
    #expect(relayed.isSendable)
    grant.sites = Array(grant.sites.prefix(fitted.sites.count + 1))
    #expect(fitted.sites.count == 8 || !grant.isSendable)
  }
}
