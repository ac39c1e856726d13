/** The full-text index of questions. It is derived data, which can always be computed again. */

/** The SQL of the store version that searches questions. */
export const QUESTIONS = `
CREATE VIRTUAL TABLE question_search USING fts5 (
  question, content = 'instance', content_rowid = 'id', tokenize = "unicode61 remove_diacritics 2"
);
INSERT INTO question_search (rowid, question) SELECT id, question FROM instance;
CREATE TRIGGER instance_indexed AFTER INSERT ON instance
BEGIN
  INSERT INTO question_search (rowid, question) VALUES (NEW.id, NEW.question);
END;
CREATE INDEX problem_instance ON problem (instance);
`;
