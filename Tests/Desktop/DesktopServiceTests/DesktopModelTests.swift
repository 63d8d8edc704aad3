import DesktopService
import SeededRandom
import SystemdIO
import Testing

/// States of the agent, as its properties on D-Bus.
enum Sample {
  static let path = "/net/roamward/Agent1/tunnel/corp"

  static func tunnel(
    _ state: String, reason: String = "abroad", failure: String = "", code: String = "", override: String = "", question: String? = nil
  ) -> BusValue {
    .dictionary([
      "net.roamward.Agent1.Tunnel": .dictionary([
        "Name": .text("corp"), "State": .text(state), "Enabled": .bool(true), "Reason": .text(reason), "Failure": .text(failure),
        "FailureCode": .text(code), "Override": .text(override),
        "Questions": .list(question.map { [.list([.unsigned(3), .text("code"), .text($0)])] } ?? []),
      ])
    ])
  }

  static func view(
    _ tunnel: BusValue = tunnel("connected"), situation: String = "open", isBlocking: Bool = false, text: String = "",
    isPortal: Bool = false
  ) throws -> AgentView {
    try #require(
      AgentView(
        agent: .dictionary([
          "Situation": .text(situation), "Blocking": .bool(isBlocking), "KillSwitchText": .text(text), "CaptivePortal": .bool(isPortal),
        ]), objects: .dictionary([path: tunnel])))
  }
}

@Suite("What a desktop shows") struct DesktopModelTests {
  @Test("the icon and its text follow the state")
  func item() throws {
    #expect(TrayItem(nil).text == "the agent does not run" && TrayItem(nil).icon == "network-vpn-disconnected-symbolic")
    for (state, icon) in [
      ("connected", "network-vpn-symbolic"), ("armed", "network-vpn-symbolic"), ("connecting", "network-vpn-acquiring-symbolic"),
      ("reasserting", "network-vpn-acquiring-symbolic"), ("disconnected", "network-vpn-disconnected-symbolic"),
    ] {
      let item = TrayItem(try Sample.view(Sample.tunnel(state)))
      #expect(item.icon == icon && !item.needsAttention, "\(state)")
      #expect(item.text == (state == "disconnected" ? "no tunnel is up" : "corp: \(state) (abroad)"))
    }
    let blocked = TrayItem(try Sample.view(Sample.tunnel("connecting"), situation: "guarded", isBlocking: true, text: "blocked: X"))
    #expect(blocked.icon == "network-error-symbolic" && blocked.needsAttention && blocked.text.hasPrefix("blocked: X\n"))
    let asked = TrayItem(try Sample.view(Sample.tunnel("connecting", question: "The code")))
    #expect(asked.icon == "dialog-password-symbolic" && asked.needsAttention)
  }

  private func lines(_ menu: MenuNumbers) -> [String] {
    menu.all.compactMap { number in
      menu.entry(number).map { "\(number) \($0.entry.isSeparator ? "---" : $0.entry.label)\($0.children.isEmpty ? "" : " \($0.children)")" }
    }
  }

  @Test("the menu has an entry for each tunnel and each action, with numbers in the order of reading") func menu() throws {
    let menu = MenuNumbers(TrayMenu(try Sample.view(Sample.tunnel("connected", override: "up"), situation: "guarded")))
    #expect(
      lines(menu) == [
        "0  [1, 12, 13, 14, 15]", "1 corp: connected [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]", "2 abroad", "3 ---",
        "4 Connect until the network changes", "5 Connect for 1 hour", "6 Connect until resumed", "7 Disconnect until the network changes",
        "8 Disconnect for 1 hour", "9 Disconnect until resumed", "10 ---", "11 Follow the rules again", "12 ---",
        "13 Open the web to sign in to this network", "14 Suspend the kill switch until the network changes…",
        "15 Resume the rules and the kill switch",
      ])
    #expect(menu.entry(5)?.entry.action == .up(Sample.path, .hour) && menu.entry(11)?.entry.action == .resume(Sample.path))
    #expect(menu.entry(13)?.entry.action == .openPortal && menu.entry(1)?.entry.action == nil && menu.entry(16) == nil)
    #expect(lines(MenuNumbers(TrayMenu(nil))) == ["0  [1]", "1 The agent does not run (systemctl start roamwardd)"])
  }

  @Test("a click on a menu that has changed meanwhile never does something else") func numbers() throws {
    let seed = UInt64.random(in: 0..<1 << 32)
    var random = SplitMix64(seed: seed)
    var numbers = MenuNumbers(TrayMenu(nil))
    var actions: [Int32: AgentAction] = [:]
    for _ in 0..<300 {
      let tunnel = Sample.tunnel(random.pick(["connected", "connecting", "disconnected"]), override: random.pick(["", "up"]))
      let situation = random.pick(["open", "guarded", "portal", "released"])
      let view = try Sample.view(tunnel, situation: situation, text: random.pick(["", "blocked: X"]))
      numbers.show(TrayMenu(random.chance(0.1) ? nil : view))
      for number in numbers.all {
        guard let action = numbers.entry(number)?.entry.action else {
          #expect(actions[number] == nil, "seed \(seed)")
          continue
        }
        #expect((actions[number] ?? action) == action, "seed \(seed)")
        actions[number] = action
      }
    }
    #expect(actions.count >= 10)
  }

  @Test("a person is told what needs a person, and nothing else") func notices() throws {
    #expect(Notice.due(nil) == [])
    for state in ["connected", "connecting", "disconnected"] { #expect(Notice.due(try Sample.view(Sample.tunnel(state))) == []) }
    let blocked = Notice.due(try Sample.view(situation: "guarded", isBlocking: true, text: "blocked: X"))
    #expect(blocked.map(\.kind) == [.blocked] && blocked[0].text == "blocked: X" && blocked[0].actions == [.openPortal, .suspend])
    let portal = Notice.due(try Sample.view(situation: "guarded", isPortal: true))
    #expect(portal.map(\.kind) == [.portal] && portal[0].actions == [.openPortal])
    #expect(Notice.due(try Sample.view(situation: "portal", isPortal: true)) == [], "it is open already")
    #expect(Notice.due(try Sample.view(isPortal: true))[0].actions == [], "nothing is blocked")
    #expect(Notice.due(try Sample.view(Sample.tunnel("connecting", question: "The code"))).map(\.kind) == [.question("corp")])
    let failed = Sample.tunnel("disconnected", failure: "the password is wrong", code: "action-needed")
    #expect(Notice.due(try Sample.view(failed)).map(\.text) == ["the password is wrong"])
    #expect(Notice.due(try Sample.view(Sample.tunnel("connecting", failure: "no answer", code: "peer-timeout"))) == [])
  }

  @Test("a state that is not the agent's is none") func garbage() {
    #expect(AgentView(agent: .text(""), objects: .dictionary([:])) == nil)
    #expect(AgentView(agent: .dictionary([:]), objects: .dictionary(["/x": .text("")]))?.tunnels == [])
  }
}
