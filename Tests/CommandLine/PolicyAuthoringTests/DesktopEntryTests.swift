import PolicyAuthoring
import SeededRandom
import Testing

@Suite("Files of programs for launchers") struct DesktopEntryTests {
  private let firefox = """
    # A comment
    [Desktop Entry]
    Version=1.0
    Name=Firefox ESR
    Name[de]=Feuerfuchs
    Comment = Browse the World Wide Web
    Exec=/usr/lib/firefox-esr/firefox-esr --name "Fire \\\\"fox\\\\" 100%%" %u %d
    TryExec=firefox-esr
    Terminal=false
    Type=Application
    Icon=firefox-esr
    MimeType=text/html;x-scheme-handler/http;
    Keywords[de]=Netz\\;Werk;Web;
    DBusActivatable=true
    Actions=private;none;
    X-GNOME-FullName=Firefox

    [Desktop Action private]
    Name=New private window
    Exec=firefox-esr --private-window

    [Desktop Action other]
    Name=Not named by Actions
    Exec=other
    """

  private func read(_ text: String) throws -> DesktopEntry { try DesktopEntry(Array(text.utf8)) }

  private func mistake(_ text: String) -> String? {
    do throws(DesktopEntry.Mistake) { _ = try DesktopEntry(Array(text.utf8)) } catch { return "\(error)" }
    return nil
  }

  private func entry(_ lines: String) -> String { "[Desktop Entry]\nType=Application\nName=App\n\(lines)\n" }

  @Test("what is written starts the program by `roamward run`, and has only what was understood") func written() throws {
    let entry = try read(firefox)
    #expect(entry.name == "Firefox ESR" && entry.route == nil && entry.isStartedByBus)
    #expect(
      entry.text(for: .through("corp"), program: "/usr/bin/roamward", options: ["--through", "corp", "--up"]) == """
        # `roamward app` has written this file; `roamward app remove` removes it.
        [Desktop Entry]
        Type=Application
        Version=1.0
        Name=Firefox ESR
        Name[de]=Feuerfuchs
        Comment=Browse the World Wide Web
        Icon=firefox-esr
        Keywords[de]=Netz\\;Werk;Web;
        MimeType=text/html;x-scheme-handler/http;
        TryExec=firefox-esr
        Terminal=false
        Actions=private;none;
        Exec=/usr/bin/roamward run --through corp --up -- /usr/lib/firefox-esr/firefox-esr --name "Fire \\\\"fox\\\\" 100%%" %u
        X-Roamward-Route=through corp

        [Desktop Action private]
        Name=New private window
        Exec=/usr/bin/roamward run --through corp --up -- firefox-esr --private-window

        """)
  }

  @Test("a file that was written is known again, and written once more it starts the same") func again() throws {
    for route in [DesktopEntry.Route.through("corp"), .outside] {
      let text = try read(firefox).text(for: route, program: "/opt/a b/roamward", options: ["--outside"])
      let own = try read(text)
      #expect(own.route == route)
      #expect(text.contains(#"Exec="/opt/a b/roamward" run --outside -- "#))
    }
  }

  @Test(
    "each mistake has its line and its words",
    arguments: [
      ("", "there is no group [Desktop Entry]"), ("Name=x", "line 1: the file begins with [Desktop Entry]"),
      ("[Other]\nName=x", "there is no group [Desktop Entry]"),
      ("[Desktop Entry]\nType=Link\nName=x", "it is no program (`Type=Application`)"),
      ("[Desktop Entry]\nType=Application\nExec=x", "it has no `Name`"),
      ("[Desktop Entry]\nType=Application\nName=x", "it has no `Exec`: it is started over D-Bus alone"),
      ("[Desktop Entry]\nno key", "line 2: this is no key with a value (`Key=value`)"),
      ("[Desktop Entry", "line 1: this is no group, such as [Desktop Entry]"),
      ("[Desktop Entry]\n[Desktop Entry]", "line 2: there is another group [Desktop Entry]"),
      ("[Desktop Entry]\nTerminal=maybe", "line 2: `Terminal` is true or false"),
      ("[Desktop Entry]\nHidden=true", "line 2: it is hidden: no launcher shows it"),
      ("[Desktop Entry]\nName=a\nName=b", "line 3: there is another `Name`"),
      ("[Desktop Entry]\nName[d e]=a", "line 2: \"Name[d e]\" has no language that can be read, such as Name[de]"),
      ("[Desktop Entry]\nName=a\u{7}", "line 2: it has the control character U+007"),
      ("[Desktop Entry]\nName=a\\q", "line 2: a backslash is followed by one of s, n, t, r and \\, in a list also ;"),
      ("[Desktop Entry]\nName=a\\nb", "line 2: `Name` is one line of text"),
      ("[Desktop Entry]\nExec=a\nExec=b", "line 3: there is another `Exec`"),
      ("[Desktop Entry]\nExec=", "line 2: `Exec`: it names no program"),
      ("[Desktop Entry]\nExec=%u", "line 2: `Exec`: it names no program"),
      ("[Desktop Entry]\nExec=\"\" x", "line 2: `Exec`: it names no program"),
      ("[Desktop Entry]\nExec=a \"b", "line 2: `Exec`: a quote has no end"),
      ("[Desktop Entry]\nExec=a 'b'", "line 2: `Exec`: ' is in double quotes, or not there"),
      ("[Desktop Entry]\nExec=a;b", "line 2: `Exec`: ; is in double quotes, or not there"),
      ("[Desktop Entry]\nExec=a \"$b\"", "line 2: `Exec`: $ in quotes has a backslash before it"),
      ("[Desktop Entry]\nExec=a \"%u\"", "line 2: `Exec`: a code such as %u is not in quotes"),
      ("[Desktop Entry]\nExec=a %z", "line 2: `Exec`: %z stands for nothing"),
      ("[Desktop Entry]\nExec=a %", "line 2: `Exec`: a % is followed by a letter, or by another %"),
      ("[Desktop Entry]\nExec=a\\nb", "line 2: `Exec`: \n is in double quotes, or not there"),
    ])
  func mistakes(_ text: String, _ said: String) { #expect(mistake(text) == said) }

  @Test("no text crashes the reader, and what is written from one that it takes is taken again, with the same command") func fuzz() throws {
    var random = SplitMix64(seed: 20261201)
    let pieces = [
      "\"", "\\\\", "\\s", "\\;", "%u", "%%", "%F", " ", "a", "ä", "\u{301}", "$", "`", "'", ";", "=", "[", "]", "\\\\\\\\", "\\\\$", "\\n",
      "#",
    ]
    var taken = 0
    for _ in 0..<20_000 {
      let command = (0..<Int.random(in: 1...8, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
      guard let first = try? read(entry("Exec=x \(command)\nComment=\(command)\nKeywords=\(command)")) else { continue }
      taken += 1
      let text = first.text(for: .outside, program: "run", options: [])
      let second = try read(text)
      let third = try read(second.text(for: .outside, program: "run", options: []))
      #expect(third.text(for: .outside, program: "p", options: []).contains("p run -- run run -- run run -- x"), "\(command)")
      let words = text.split(separator: "\n").first { $0.hasPrefix("Exec=") }
      let again = second.text(for: .outside, program: "run", options: []).split(separator: "\n").first { $0.hasPrefix("Exec=") }
      #expect(again == words.map { "Exec=run run -- \($0.dropFirst(5))" }.map { Substring($0) }, "\(command)")
    }
    #expect(taken > 500)
  }
}
