import Testing

@Suite("Two tunnels that want the same destinations", .needsLab)
struct TwoTunnelsTests {
  /// corp takes 10.77.0.0/16; lab takes that and 10.88.0.0/16.
  private func scene(_ policy: String = corp) throws -> Scene {
    let scene = try Scene(["50-corp.yaml": policy, "10-lab.yaml": lab])
    try scene.run("second_gateway gw1 10.88.0.1/16 51821 10.88.0.2/32 >$policies/lab.conf; chmod 600 $policies/lab.conf")
    return scene
  }

  private let ways = #"say "$(way_to 10.77.0.1), $(way_to 10.88.0.1)""#

  @Test("run together: the enterprise's wins what both want, the other has the rest, and gets that when it ends")
  func precedence() throws {
    let scene = try scene()
    let seen = try scene.run(
      """
      go home
      remember
      start_agent
      tunnel_is lab connected
      \(ways)
      go cafe
      tunnel_is corp connected
      within 5 field_is lab state connected
      \(ways)
      within 5 intranet_loads && within 5 busybox ping -c 1 -W 2 10.88.0.1 && say "both work"
      roamward down corp --wait 60
      within 1 way_is 10.77.0.1 lab
      \(ways)
      roamward resume corp && tunnel_is corp connected
      \(ways)
      stop_agent
      go home
      within 5 as_before
      """)
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == [
        "[dev lab, dev lab]", "[dev corp, dev lab]", "[both work]", "[dev lab, dev lab]", "[dev corp, dev lab]",
      ])
  }

  @Test("change places when one becomes the enterprise's")
  func changedClass() throws {
    let scene = try scene(corp.with("class: enterprise", "class: personal"))
    let seen = try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      tunnel_is lab connected
      \(ways)
      sed -i 's/class: personal/class: enterprise/' $policies/50-corp.yaml
      within 5 way_is 10.77.0.1 corp
      tunnel_is corp connected
      within 5 way_is 10.88.0.1 lab
      \(ways)
      """)
    #expect(seen.lines == ["[dev lab, dev lab]", "[dev corp, dev lab]"])
  }

  @Test("for a part of the addresses and for all of them: the part takes its own, whichever starts first, also past a kill switch")
  func partOfAll() throws {
    let scene = try Scene([
      "50-corp.yaml": corp.with("class: enterprise", "class: personal"),
      "10-lab.yaml": lab.with("[10.77.0.0/16, 10.88.0.0/16] }", "[default] }\n    kill-switch: \"on\""),
    ])
    try scene.run("second_gateway gw1 10.88.0.1/16 51821 10.88.0.2/32 >$policies/lab.conf; chmod 600 $policies/lab.conf")
    let seen = try scene.run(
      """
      go cafe
      start_agent
      both_up() { tunnel_is lab connected; tunnel_is corp connected; }
      both_up
      \(ways)
      within 5 intranet_loads && say loads
      for tunnel in corp lab; do
        roamward down $tunnel --wait 60
        \(ways)
        roamward resume $tunnel
        both_up
        \(ways)
      done
      sed -i 's|include: .*|include: [10.88.0.0/16] }|' $policies/10-lab.yaml
      within 5 way_is 203.0.113.80 wlan0
      within 5 way_is 10.88.0.1 lab
      \(ways)
      within 5 intranet_loads && say loads
      say "table $(field lab table)"
      """)
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == [
        "[dev corp, dev lab]", "[loads]", "[dev lab, dev lab]", "[dev corp, dev lab]", "[dev corp, dev wlan0]", "[dev corp, dev lab]",
        "[dev corp, dev lab]", "[loads]", "[table 21750]",
      ])
  }
}

private let lab = """
  version: 1
  tunnels:
    lab:
      provider: { wireguard: { config: lab.conf } }
      on-demand: { rules: [{ action: connect }] }
      routes: { include: [10.77.0.0/16, 10.88.0.0/16] }

  """
