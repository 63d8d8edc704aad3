import Testing

@Suite("Two tunnels that want the same destinations", .needsLab)
struct TwoTunnelsTests {
  /// corp takes 10.77.0.0/16; lab takes that and 10.88.0.0/16.
  private func scene(_ policy: String = corp) throws -> Scene {
    let scene = try Scene(["50-corp.yaml": policy, "10-lab.yaml": lab])
    try scene.play("lab-gateway")
    return scene
  }

  @Test("run together: the enterprise's wins what both want, the other has the rest, and gets that when it ends")
  func precedence() throws {
    let scene = try scene()
    let seen = try scene.play("TwoTunnels/precedence")
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == [
        "[dev lab, dev lab]", "[dev corp, dev lab]", "[both work]", "[dev lab, dev lab]", "[dev corp, dev lab]",
      ])
  }

  @Test("change places when one becomes the enterprise's")
  func changedClass() throws {
    let scene = try scene(corp.with("class: enterprise", "class: personal"))
    let seen = try scene.play("TwoTunnels/changed-class")
    #expect(seen.lines == ["[dev lab, dev lab]", "[dev corp, dev lab]"])
  }

  @Test("for a part of the addresses and for all of them: the part takes its own, whichever starts first, also past a kill switch")
  func partOfAll() throws {
    let scene = try Scene([
      "50-corp.yaml": corp.with("class: enterprise", "class: personal"),
      "10-lab.yaml": lab.with("[10.77.0.0/16, 10.88.0.0/16] }", "[default] }\n    kill-switch: \"on\""),
    ])
    try scene.play("lab-gateway")
    let seen = try scene.play("TwoTunnels/part-of-all")
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
