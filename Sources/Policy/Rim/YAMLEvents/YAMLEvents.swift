internal import CYAML

/// A libyaml event, as a value.
package struct YAMLEvent {
  package enum Kind {
    case streamStart, streamEnd, documentStart, documentEnd
    case alias
    case scalar(String, isPlain: Bool)
    case sequenceStart, sequenceEnd
    case mappingStart, mappingEnd
  }

  package let kind: Kind
  package let mark: Mark
  package let hasAnchor: Bool
  package let hasTag: Bool

  /// Line and column, from 1; columns count Unicode scalars.
  package struct Mark {
    package let line: Int
    package let column: Int
  }
}

/// The text is not YAML.
package struct YAMLSyntaxError: Error {
  package let problem: String
  /// The construct that was being parsed, and its start.
  package let context: (text: String, mark: YAMLEvent.Mark)?
  package let mark: YAMLEvent.Mark
}

/// A libyaml parser and a copy of its input. This is the only code that accesses libyaml's memory.
///
/// libyaml reads lazily: nothing past a refused event is parsed, and aliases are never followed.
package struct YAMLEventStream: ~Copyable {
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let input: UnsafeMutableBufferPointer<UInt8>

  /// `bytes` have to be valid UTF-8.
  package init(_ bytes: [UInt8]) throws(YAMLSyntaxError) {
    parser = .allocate(capacity: 1)
    parser.initialize(to: yaml_parser_t())
    input = .allocate(capacity: bytes.count)
    _ = input.initialize(from: bytes)
    guard yaml_parser_initialize(parser) == 1 else {
      throw YAMLSyntaxError(problem: "out of memory", context: nil, mark: .init(line: 1, column: 1))
    }
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    yaml_parser_set_input_string(parser, input.baseAddress, input.count)
  }

  deinit {
    yaml_parser_delete(parser)
    parser.deallocate()
    input.deallocate()
  }

  /// The next event. Do not call it after `.streamEnd` or an error.
  package mutating func next() throws(YAMLSyntaxError) -> YAMLEvent {
    var event = yaml_event_t()
    guard yaml_parser_parse(parser, &event) == 1 else { throw error }
    defer { yaml_event_delete(&event) }
    let mark = YAMLEvent.Mark(event.start_mark)
    func make(_ kind: YAMLEvent.Kind, anchor: UnsafeMutablePointer<yaml_char_t>? = nil, tag: UnsafeMutablePointer<yaml_char_t>? = nil)
      -> YAMLEvent
    {
      YAMLEvent(kind: kind, mark: mark, hasAnchor: anchor != nil, hasTag: tag != nil)
    }
    switch event.type {
    case YAML_STREAM_START_EVENT: return make(.streamStart)
    case YAML_DOCUMENT_START_EVENT: return make(.documentStart)
    case YAML_DOCUMENT_END_EVENT: return make(.documentEnd)
    case YAML_ALIAS_EVENT: return make(.alias)
    case YAML_SEQUENCE_START_EVENT:
      return make(.sequenceStart, anchor: event.data.sequence_start.anchor, tag: event.data.sequence_start.tag)
    case YAML_SEQUENCE_END_EVENT: return make(.sequenceEnd)
    case YAML_MAPPING_START_EVENT: return make(.mappingStart, anchor: event.data.mapping_start.anchor, tag: event.data.mapping_start.tag)
    case YAML_MAPPING_END_EVENT: return make(.mappingEnd)
    case YAML_SCALAR_EVENT:
      let scalar = event.data.scalar
      let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
      return make(.scalar(text, isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE), anchor: scalar.anchor, tag: scalar.tag)
    default: return make(.streamEnd)
    }
  }

  private var error: YAMLSyntaxError {
    let state = parser.pointee
    let problem = state.problem.map { String(cString: $0) } ?? "out of memory"
    let context = state.context.map { (text: String(cString: $0), mark: YAMLEvent.Mark(state.context_mark)) }
    return YAMLSyntaxError(problem: problem, context: context, mark: YAMLEvent.Mark(state.problem_mark))
  }
}

extension YAMLEvent.Mark {
  fileprivate init(_ mark: yaml_mark_t) { self.init(line: Int(clamping: mark.line) + 1, column: Int(clamping: mark.column) + 1) }
}
