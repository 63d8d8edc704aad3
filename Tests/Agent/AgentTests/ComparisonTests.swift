import ControlProtocol
import FlightRecord
import History
import NetworkTypes
import PolicySource
import RoamwardCore
import Simulation
import TestKit
import Testing

/// The recorded days under other policies, and the pages.
@Suite struct ComparisonTests {
  let home = Sample.network(Sample.wifi("Home"))
  let cafe = Sample.network(Sample.wifi("Cafe", gateway: "203.0.113.1", address: "203.0.113.23/24"))

  func policies(_ elsewhere: Action, releaseDelay: Duration = .zero) -> PolicySet {
    var tunnel = Sample.tunnel(
      rules: [
        Rule(name: "at home", match: .network(["home"]), action: .disconnect, location: Sample.place(3)),
        Rule(name: "elsewhere", action: elsewhere, location: Sample.place(4)),
      ])
    tunnel.onDemand.timing.releaseDelay = releaseDelay
    return PolicySet(
      networks: [NamedNetwork(name: "home", condition: .ssid([Sample.ssid("Home")]), location: Sample.place())], tunnels: [tunnel])
  }

  /// An hour at home, an hour in a café, an hour at home.
  func day() throws -> RecordedHistory {
    let life = try RecordedLife(policies(.connect), on: home)
    life.machine.run(for: .seconds(3600))
    life.move(to: cafe)
    life.machine.run(for: .seconds(3600))
    life.move(to: home)
    life.machine.run(for: .seconds(3600))
    life.rotate()
    return life.history
  }

  func compare(_ history: RecordedHistory, _ old: PolicySet, _ new: PolicySet) -> Comparison {
    let lives = [old, new].map { Life(history, policies: $0, from: 0, to: .distantFuture) }
    return Comparison(lives[0], lives[1], history) { history.isTrusted($0, names: ["home"], of: old) }
  }

  @Test("the same policies make no difference, and time on untrusted networks is protected") func same() throws {
    let comparison = compare(try day(), policies(.connect), policies(.connect))
    #expect(comparison.differences == [] && comparison.before == comparison.after)
    #expect(comparison.text(.utc).hasPrefix("no decision would have been different\n"))
    #expect(comparison.untrusted >= .seconds(3590) && comparison.before.unprotected < .seconds(5))
    #expect(abs(comparison.before.up["corp", default: .zero] - .seconds(3600)) < .seconds(5))
  }

  @Test("another decision is one difference with its numbers") func other() throws {
    let comparison = compare(try day(), policies(.connect), policies(.disconnect))
    #expect(comparison.differences.count == 1)
    let difference = try #require(comparison.differences.first)
    #expect(difference.network == "wifi wlan0 \"Cafe\"" && difference.tunnel == "corp")
    #expect(difference.before?.outcome == .connect && difference.after?.outcome == .disconnect)
    #expect(comparison.after.unprotected == comparison.untrusted && comparison.after.up["corp"] == .zero)
    let text = comparison.text(.utc)
    #expect(text.contains("corp: connect (rule 2 \"elsewhere\"), up  ->  disconnect (rule 2 \"elsewhere\"), down"))
    #expect(text.contains("unprotected, of 59 min on untrusted networks") || text.contains("unprotected, of 1 h"))
  }

  @Test("timers of the new policies end between the entries of the record") func timers() throws {
    let comparison = compare(try day(), policies(.connect), policies(.connect, releaseDelay: .seconds(600)))
    let difference = try #require(comparison.differences.first)
    #expect(comparison.differences.count == 1 && abs(difference.to - difference.from - .seconds(600)) < .seconds(2))
    #expect(difference.before?.isUp == false && difference.after?.isUp == true)
  }

  @Test("why a past decision was made: its network, its rule, and what the rules found") func why() throws {
    let history = try day()
    let life = try RecordedLife(policies(.connect), on: home)
    let identification = policies(.connect).identification(life.privacy.identification)
    let at = try #require(history.begin) + .seconds(5400)
    let moment = try #require(PastMoment(history, at: at, policies: policies(.connect), identification: identification))
    let text = moment.text(.utc)
    #expect(text.contains("wifi wlan0 \"Cafe\"") && text.contains("corp: connect, because rule 2 \"elsewhere\": always"))
    #expect(text.contains("the tunnel was connected") && text.contains("no      ssid \"Cafe\" is not \"Home\""))
    #expect(moment.areRulesTheSame)
    let other = try #require(PastMoment(history, at: at, policies: policies(.ignore), identification: "another"))
    #expect(other.text(.utc).contains("The policies have changed since"))
    #expect(PastMoment(history, at: 0 - .seconds(10), policies: policies(.connect), identification: "") == nil)
  }

  @Test(
    "a hostile SSID is text in a page, and the page needs nothing else",
    arguments: [
      "<script>alert(1)</script>", "\"><img src=x>", "</title><b>'&", "x\u{202e}evil",
    ]) func hostile(_ ssid: String) throws
  {
    let life = try RecordedLife(policies(.connect), on: Sample.network(Sample.wifi(ssid)))
    life.machine.run(for: .seconds(60))
    life.move(to: home)
    life.machine.run(for: .seconds(60))
    life.rotate()
    let (history, set) = (life.history, policies(.connect))
    let identification = set.identification(life.privacy.identification)
    var page = HistoryPage(history, policies: set, identification: identification, from: 0, to: .distantFuture, .utc)
    let lives = [set, policies(.disconnect)].map { Life(history, policies: $0, from: 0, to: .distantFuture) }
    let comparison = Comparison(lives[0], lives[1], history) { _ in false }
    let snapshot = Sample.network(Sample.wifi(ssid))
    let evaluator = Evaluator(networks: set.networks)
    let decision = try #require(evaluator.decide(set, on: snapshot).first)
    let pages = [
      page.text(), comparisonPage(comparison, lives[0], lives[1], history, from: 0, to: .distantFuture, .utc),
      explanationPage(of: set.tunnels[0], decision, evaluator.trace(set.tunnels[0], on: snapshot), on: snapshot),
    ]
    for text in pages {
      #expect(!text.contains(ssid))
      for word in ["<script", "<img", "<b>", "<link", "<iframe", "http:", "https:", "url(", "@import", "\u{202e}"] {
        #expect(!text.contains(word), "\(word)")
      }
      #expect(text.contains("default-src 'none'"))
      // Every reference leads to a place of the page.
      for reference in text.split(separator: "href=\"#").dropFirst() {
        let name = reference.prefix { $0 != "\"" }
        #expect(text.contains("id=\"\(name)\""))
      }
    }
  }
}

private func abs(_ duration: Duration) -> Duration { duration < .zero ? .zero - duration : duration }
