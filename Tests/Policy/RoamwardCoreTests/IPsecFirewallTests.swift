import KernelModel
import NetworkTypes
import RoamwardCore
import Testing

@Suite struct IPsecFirewallTests {
  /// Before its encryption a packet has the link of the encrypted one, and no mark.
  @Test("packets that our IPsec policies are about to encrypt pass the last hook alone, by their number") func encrypted() {
    var table = FirewallTable(
      guards: [.init(tunnel: "office", prefixes: [.everything(.v4)])], insides: [.init(link: "office", addresses: [IPAddress(v4: 1)])])
    table.hasKernelTunnel = true
    let without = table.transaction
    #expect(!without.contains("ipsec"))
    table.ipsec = [7, 9]
    let chains = table.transaction.split(separator: "  chain ")
    let found = chains.filter { $0.contains("ipsec out reqid 7 accept\n    ipsec out reqid 9 accept\n") }
    #expect(found.count == 1 && found.first?.hasPrefix("postrouting ") == true)
    #expect(
      table.digest
        != {
          var other = table; other.ipsec = []; return other.digest
        }())
  }

  @Test("the identifier of a link is ours, the same each time, and another for another name") func identifier() {
    let one = DesiredLink.Device(of: program, link: "office")
    guard case .xfrm(let identifier) = one, case .xfrm(let other) = DesiredLink.Device(of: program, link: "lab") else {
      Issue.record("\(one)")
      return
    }
    #expect(identifier & Ownership.markMask == Ownership.mark && identifier != other)
    #expect(one == DesiredLink.Device(of: program, link: "office"))
    #expect(DesiredLink(name: "office", tunnel: "office", device: one).creation?.description.contains("type xfrm if_id 0x52") == true)
  }

  private let program = ProviderProgram(name: "strongswan", path: "/p", user: "u", needs: [.xfrm], capability: .netAdmin)
}
