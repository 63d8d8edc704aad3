import ControlProtocol
import JSON
import Testing

@Suite("Who may do what") struct RightsTests {
  private let process = Caller.Subject.process(4711, startTime: 123)

  private func user(member: Bool = false) -> Caller { Caller(user: 1000, process: 4711, isMember: member, subject: process) }

  /// `nil`: allowed.
  private func refusal(_ decision: RightsDecision) -> String? {
    switch decision {
    case .allowed: nil
    case .askPolkit(let interactively): interactively ? "ask with interaction" : "ask"
    case .refused(let error): error.code == .notAllowed ? error.message : "wrong code"
    }
  }

  @Test("each request needs one right") func requests() {
    let down = Request.override(tunnel: "corp", OverrideRequest(wantsUp: false))
    let expected: [(Request, Right)] = [
      (.status, .read), (.network, .read), (.monitor(), .read), (.monitor(snapshots: true), .read), (down, .override),
      (.start(tunnel: "corp", OverrideRequest(wantsUp: true), StartOptions()), .override),
      (.override(tunnel: "corp", OverrideRequest(wantsUp: true)), .override), (.resume(tunnel: "corp"), .override),
      (.resume(tunnel: nil), .override), (.answer(tunnel: "corp", answer: "x"), .override),
      (.release(ReleaseRequest(isPortal: true)), .portal), (.release(ReleaseRequest()), .suspend),
      (.apply(ApplyRequest(files: [])), .apply),
      (.confirm, .apply), (.revert, .apply), (.reload, .apply), (.message(tunnel: "corp", content: .null), .administer),
      (.guard(GuardRequest(program: "vpn", namespace: 1)), .administer),
    ]
    for (request, right) in expected { #expect(request.right { _, _ in false } == right, "\(request)") }
    #expect(down.right { tunnel, up in tunnel == "corp" && !up } == .suspend, "it opens the kill switch as a suspension does")
  }

  @Test("root needs no polkit, and reading needs no right", arguments: Right.allCases) func owners(right: Right) {
    #expect(RightsQuestion(right, of: Caller(user: 0, isOwner: true)).decision() == .allowed)
    #expect((RightsQuestion(right, of: Caller(user: 1000)).decision() == .allowed) == (right == .read))
  }

  @Test("the rest is root's, whatever polkit and groups say") func administer() {
    let question = RightsQuestion(.administer, of: user(member: true))
    #expect(refusal(question.decision()) == "only root and the agent's own user may do this; you are user 1000")
    #expect(refusal(question.decision(after: .allowed)) != nil)
  }

  @Test("polkit decides where it runs, without a prompt first", arguments: [Right.override, .portal, .suspend, .apply])
  func polkit(right: Right) throws {
    for caller in [user(), user(member: true)] {
      let question = RightsQuestion(right, of: caller)
      #expect(question.decision() == .askPolkit(interactively: false))
      #expect(question.decision(after: .allowed) == .allowed)
      #expect(question.decision(after: .needsAuthentication) == .askPolkit(interactively: true))
      #expect(question.decision(after: .allowed, wasInteractive: true) == .allowed)
      // The actions for people, and then the name that rules of polkit have.
      let words = [
        Right.override: "connecting and disconnecting tunnels", .portal: "opening the portal window",
        .suspend: "suspending the kill switch", .apply: "changing policies",
      ]
      let action = "\(try #require(words[right])) (\(try #require(right.polkitAction)))"
      let refusals: [(PolkitAnswer, String)] = [
        (.denied, "polkit does not allow \(action) to user 1000"), (.unanswered, "polkit did not answer in time about \(action)"),
        (.failed("X"), "polkit cannot decide on \(action): X"),
      ]
      for (answer, words) in refusals {
        let text = try #require(refusal(question.decision(after: answer)))
        #expect(text.hasPrefix(words) && text.contains("run it with sudo"), "the group does not overrule polkit: \(text)")
      }
      let text = try #require(refusal(question.decision(after: .needsAuthentication, wasInteractive: true)))
      #expect(text.contains("no polkit agent of user 1000") && text.contains("run it with sudo"))
    }
    let silent = RightsQuestion(right, of: user(), mayInteract: false)
    #expect(try #require(refusal(silent.decision(after: .needsAuthentication))).contains("ALLOW_INTERACTIVE_AUTHORIZATION"))
  }

  @Test("the group decides where polkit does not run") func group() throws {
    #expect(RightsQuestion(.override, of: user(member: true)).decision(after: .absent("there is no system bus")) == .allowed)
    let apply = RightsQuestion(.apply, of: user(member: true)).decision(after: .absent("X"))
    #expect(
      try #require(refusal(apply)) == "only root may change policies where polkit does not run (X); run it with sudo",
      "policies run commands as root")
    let text = try #require(refusal(RightsQuestion(.override, of: user()).decision(after: .absent("there is no system bus"))))
    #expect(
      text == "user 1000 is not in the group roamward, which decides because polkit does not run (there is no system bus); "
        + "add the user with `usermod --append --groups roamward NAME` and log in again, or run it with sudo")
  }

  @Test("a process that cannot be identified is refused") func unknown() throws {
    let caller = Caller(user: 1000, isMember: true)
    for answer in [nil, PolkitAnswer.allowed, .absent("")] {
      #expect(try #require(refusal(RightsQuestion(.override, of: caller).decision(after: answer))).contains("cannot identify your process"))
    }
  }
}
