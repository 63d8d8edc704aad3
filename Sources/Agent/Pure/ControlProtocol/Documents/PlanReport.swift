package import JSON
internal import KernelModel
package import RoamwardCore

/// The output of `roamward plan --json`.
package struct PlanReport: Equatable, Sendable, Codable {
  package var version: DocumentVersion = DocumentVersion()
  package var steps: [Step]
  package var actions: [Action]
  package var later: [Step] = []
  package var routes: [RouteReport]
  package var others: [String]
  package var notes: [RemarkReport]
  package var resolver: String?

  package init(steps: [Step], actions: [Action], routes: [RouteReport], others: [String], notes: [RemarkReport], resolver: String?) {
    self.steps = steps
    self.actions = actions
    self.routes = routes
    self.others = others
    self.notes = notes
    self.resolver = resolver
  }

  private enum CodingKeys: String, DescribedKey {
    case version, steps, actions, later, routes, others, notes
    case resolver = "dns"

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .steps: "The agent's steps, in order."
      case .actions: "What the tunnels' providers are asked for, besides the steps."
      case .later: "The agent's steps once the providers have made their links, as far as they are known."
      case .routes: "Routes and rules of other programs that would bypass a tunnel, and their effect."
      case .others: "Other VPNs of the machine, and what they route."
      case .notes: "Parts of the policies that cannot be fulfilled."
      case .resolver: "The DNS backend; null: the plan sets no DNS servers."
      }
    }
  }
}

extension PlanReport {
  /// One change of the machine.
  package struct Step: Hashable, Sendable, Codable {
    package var what: String
    package var undo: String?
    package var undoText: String?

    package init(what: String, undo: String?, undoText: String? = nil) {
      self.what = what
      self.undo = undo
      self.undoText = undoText
    }

    private enum CodingKeys: String, DescribedKey {
      case what = "do"
      case undo
      case undoText = "undo-text"

      var about: String {
        switch self {
        case .what: "The change, as the system's own command where there is one."
        case .undo: "The command that undoes it; null: none."
        case .undoText: "How the agent undoes it where no command does, for people; null: by `undo`, or not at all."
        }
      }
    }
  }
}

extension PlanReport {
  /// A tunnel's provider that is asked to start or to stop the tunnel. The steps do not have what its programs change.
  package struct Action: Hashable, Sendable, Codable {
    package var tunnel: String
    package var isStart: Bool
    package var what: String

    package init(tunnel: String, isStart: Bool, what: String) {
      self.tunnel = tunnel
      self.isStart = isStart
      self.what = what
    }

    private enum CodingKeys: String, DescribedKey {
      case tunnel
      case isStart = "start"
      case what = "do"

      var about: String {
        switch self {
        case .tunnel: "The tunnel."
        case .isStart: "Whether the tunnel starts; false: it stops."
        case .what: "What the provider does, for people."
        }
      }
    }
  }
}

/// A route or rule of another program that would lead included addresses past a tunnel.
package struct RouteReport: Equatable, Sendable, Codable {
  package var tunnel: String
  package var what: String
  package var goes: String
  package var reason: String

  package init(tunnel: String, what: String, goes: String, reason: String) {
    self.tunnel = tunnel
    self.what = what
    self.goes = goes
    self.reason = reason
  }

  private enum CodingKeys: String, DescribedKey {
    case tunnel, what, goes, reason

    var about: String {
      switch self {
      case .tunnel: "The tunnel."
      case .what: "The route or rule."
      case .goes: "The path of the affected packets."
      case .reason: "Why, for people."
      }
    }

    var values: [String]? {
      switch self {
      case .goes: ["outside", "inside", "nowhere"]
      default: nil
      }
    }
  }
}

extension PlanReport {
  package init(_ preview: PlanPreview) {
    self.init(
      steps: preview.plan.steps.map(Step.init),
      actions: preview.actions.map { Action(tunnel: $0.tunnel, isStart: $0.isStart, what: $0.text) },
      routes: preview.claims.map { RouteReport($0) }, others: preview.others.all.map(\.description),
      notes: (preview.remarks + preview.plan.conflicts).map { RemarkReport($0) }, resolver: preview.resolver?.backend.description)
    later = preview.later.map(Step.init)
  }
}

extension PlanReport.Step {
  fileprivate init(_ step: KernelModel.Step) {
    let undo = step.undo
    let isCommand = undo?.isCommand ?? true
    self.init(
      what: step.description, undo: isCommand ? undo?.description : nil, undoText: isCommand ? nil : undo?.description)
  }
}

extension RouteReport {
  package init(_ claim: RouteClaim) {
    self.init(tunnel: claim.tunnel, what: claim.what, goes: claim.fate.rawValue, reason: claim.reason)
  }
}
