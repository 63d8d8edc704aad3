import FlightRecord
import Glibc
import History
import LinuxIO
import NetworkTypes
import PolicySource
import RoamwardCore
import SeededRandom
import TestKit
import TestSupport
import Testing

private let browsers: [String] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
private let chromium = browsers.first { access($0, X_OK) == 0 }

/// The pages in a real browser.
@Suite struct PageTests {
  @Test(
    "are drawn by Chromium, with nothing that the page's own policy forbids, whatever a network is called",
    .enabled(if: chromium != nil, "no Chromium here"))
  func browser() throws {
    let browser = try #require(chromium)
    let folder = try TemporaryFolder()
    var dice = SplitMix64(seed: 9)
    let policies = ManySidedPolicies.set
    let life = try RecordedLife(policies, on: Sample.network(Sample.wifi("<script>alert(1)</script>")))
    try life.live(acts: 20, &dice)
    let history = life.history
    var page = HistoryPage(
      history, policies: policies, identification: policies.identification(life.privacy.identification), from: 0, to: .distantFuture, .utc)
    try TextFile.create(folder.path + "/page.html", with: Array(page.text().utf8), mode: 0o600)
    try shell(
      "cd '\(folder.path)' && HOME=\"$PWD\" '\(browser)' --headless --no-sandbox --disable-gpu --no-first-run --user-data-dir=\"$PWD/data\" "
        + "--enable-logging=stderr --dump-dom \"file://$PWD/page.html\" >dom 2>messages")
    let dom = String(decoding: try TextFile.read(folder.path + "/dom", limit: 1 << 26), as: UTF8.self)
    let messages = String(decoding: try TextFile.read(folder.path + "/messages", limit: 1 << 26), as: UTF8.self)
    #expect(dom.contains("id=\"m0\"") && dom.contains("<rect") && dom.contains("corp: decision") && dom.hasSuffix("</html>\n"))
    #expect(!dom.contains("<script") && dom.contains("&lt;script&gt;"))
    #expect(!messages.contains("Refused to") && !messages.contains("violates"))
  }
}
