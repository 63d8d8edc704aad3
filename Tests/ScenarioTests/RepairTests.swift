import Testing

@Suite("What others break", .needsLab)
struct RepairTests {
  @Test(
    "is repaired within a second",
    arguments: [
      "ip rule del priority 21000",
      "ip route flush table 21000",
      "ip -4 address flush dev corp",
      "ip link set corp down",
      "ip link set corp mtu 1300",
      "ip route add 10.77.3.0/24 dev lo table 21000 proto 82",
    ])
  func repaired(_ breakage: String) throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      looks() { ip -j link show corp; ip -j address show corp; ip -j rule; ip -j route show table 21000; wg show corp | grep -vE 'handshake|transfer'; }
      go cafe
      start_agent
      tunnel_is corp connected
      within 2 intranet_loads
      looks >before
      # Stopped, so that it is seen broken before it is repaired.
      kill -STOP $(agent_pid)
      \(breakage)
      looks >broken
      cmp -s before broken && say "nothing is broken"
      kill -CONT $(agent_pid)
      as_it_was() { looks >after; diff before after; }
      within 1 as_it_was
      within 3 intranet_loads
      say "$(field corp state)"
      """)
    #expect(seen == "[connected]")
  }

  @Test(
    "is built anew when the link, or the program that runs it, is gone", arguments: ["ip link del corp", "kill -KILL $(engine_pid corp)"])
  func rebuilt(_ breakage: String) throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go cafe
      remember
      start_agent
      tunnel_is corp connected
      index=$(link_index corp)
      [[ "\(breakage)" != *engine* || -n $(engine_pid corp) ]] || { say built; exit 0; }
      \(breakage)
      within 3 eval '(( $(link_index corp) != index ))'
      within 5 intranet_loads
      within 5 field_is corp state connected
      say built
      stop_agent
      as_before
      """)
    #expect(seen.lines.first == "[built]")
  }

  @Test("resolv.conf written by somebody while the tunnel is up is the underlay's: ours comes back over it, and theirs at the end")
  func resolvConf() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      printf 'search new.example\\nnameserver 198.51.100.99\\n' >theirs
      cp theirs $laptop/resolv.conf
      within 1 grep -q 'nameserver 10.77.0.1' $laptop/resolv.conf
      grep '^search' $laptop/resolv.conf
      dry network --json | jq -c '.links.wlan0 | [."dns-servers", ."search-domains"]'
      stop_agent
      cmp theirs $laptop/resolv.conf && say theirs
      """)
    #expect(seen.lines == ["search corp.example new.example", #"[["198.51.100.99"],["new.example"]]"#, "0", "[theirs]"])
  }
}
