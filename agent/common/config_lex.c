/* The configuration's tokens, and the text as libconfuse must be given it to read it as it was meant. */
#include "common/config_internal.h"

#include <stdlib.h>
#include <string.h>

static int peek(const struct config_lexer *l, size_t ahead)
{
	return l->at + ahead < l->size ? l->in[l->at + ahead] : -1;
}

static void emit(struct config_lexer *l, char c)
{
	l->out[l->length++] = c;
}

/* Takes one byte over as it is. */
static void copy(struct config_lexer *l)
{
	emit(l, (char)l->in[l->at++]);
}

static bool at_line_end(const struct config_lexer *l)
{
	return peek(l, 0) == -1 || peek(l, 0) == '\n' || (peek(l, 0) == '\r' && peek(l, 1) == '\n');
}

/* A comment between the C marks. It leaves its newlines, and a space, since it parts words. */
static bool skip_block_comment(struct config_lexer *l)
{
	unsigned opened = l->line;

	emit(l, ' ');
	l->at += 2;
	while (peek(l, 0) != -1) {
		if (peek(l, 0) == '*' && peek(l, 1) == '/') {
			l->at += 2;
			return true;
		}
		if (peek(l, 0) == '\n') {
			emit(l, '\n');
			l->line++;
		}
		l->at++;
	}
	config_report_add(l->report, opened, "the comment that begins here with \"/*\" is never closed");
	return false;
}

/* Moves to the next token. Returns false when something is wrong before it. */
static bool skip_space(struct config_lexer *l)
{
	for (;;) {
		int c = peek(l, 0);
		if (c == '\n') {
			copy(l);
			l->line++;
		} else if (c == ' ' || c == '\t') {
			copy(l);
		} else if (c == '\r' && peek(l, 1) == '\n') {
			l->at++;
		} else if (c == '#' || (c == '/' && peek(l, 1) == '/')) {
			emit(l, ' ');
			while (!at_line_end(l))
				l->at++;
		} else if (c == '/' && peek(l, 1) == '*') {
			if (!skip_block_comment(l))
				return false;
		} else {
			return true;
		}
	}
}

static int hex_digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* A byte given by number: "\101" or "\x41", rewritten so that libconfuse's longest match cannot take in more.
 */
static bool lex_number_escape(struct config_lexer *l)
{
	static const char digits[] = "0123456789abcdef";
	bool hex = peek(l, 1) == 'x';
	int base = hex ? 16 : 8, most = hex ? 2 : 3, value = 0, count = 0;

	l->at += hex ? 2 : 1;
	for (; count < most; count++, l->at++) {
		int digit = hex_digit(peek(l, 0));
		if (digit < 0 || digit >= base)
			break;
		value = value * base + digit;
	}
	if (count == 0 || value == 0 || value > 255) {
		config_report_add(l->report, l->line, "the number after \"\\\" is not a byte from 1 to 255");
		return false;
	}
	emit(l, '\\');
	emit(l, 'x');
	emit(l, digits[value / 16]);
	emit(l, digits[value % 16]);
	return true;
}

static bool lex_escape(struct config_lexer *l)
{
	int c = peek(l, 1);

	if (c == 'x' || (c >= '0' && c <= '7'))
		return lex_number_escape(l);
	if (c == -1 || c == 0 || strchr("\\\"'ntrbfaev$", c) == NULL) {
		config_report_add(l->report, l->line,
				  "unknown escape in double quotes; write \"\\\\\" for a backslash");
		return false;
	}
	copy(l);
	copy(l);
	return true;
}

/* Text in quotes, which end on their line: so an open one is found where it is. */
static bool lex_string(struct config_lexer *l)
{
	int quote = peek(l, 0);
	size_t begin = l->at;

	copy(l);
	while (peek(l, 0) != quote) {
		int c = peek(l, 0);
		if (at_line_end(l)) {
			config_report_add(l->report, l->line, "a quote (%c) is not closed on its line",
					  quote);
			return false;
		}
		if ((c < 0x20 && c != '\t') || c == 0x7f || l->at - begin > CONFIG_TOKEN_MAX) {
			config_report_add(l->report, l->line,
					  c < 0x20 || c == 0x7f ? "control character in quotes"
								: "text in quotes is too long");
			return false;
		}
		if (quote == '"' && c == '\\') {
			if (!lex_escape(l))
				return false;
			continue;
		}
		/* libconfuse would put in the value from the environment. */
		if (quote == '"' && c == '$' && peek(l, 1) == '{')
			emit(l, '\\');
		if (quote == '\'' && c == '\\' && (peek(l, 1) == '\'' || peek(l, 1) == '\\'))
			copy(l);
		copy(l);
	}
	copy(l);
	return true;
}

static bool word_byte(int c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c > 0 && c < 0x80 && strchr("_-.:/@%~[]", c) != NULL);
}

static bool lex_word(struct config_lexer *l)
{
	size_t begin = l->at;

	while (word_byte(peek(l, 0)))
		copy(l);
	if (l->at - begin > CONFIG_TOKEN_MAX) {
		config_report_add(l->report, l->line, "word is too long");
		return false;
	}
	return true;
}

static bool lex_stray(struct config_lexer *l)
{
	int c = peek(l, 0);

	if (c > 0x20 && c < 0x7f)
		config_report_add(l->report, l->line,
				  "unexpected \"%c\"; text with such characters needs quotes", c);
	else if (c >= 0x80)
		config_report_add(l->report, l->line,
				  "unexpected byte 0x%02x; text needs plain quotes, \" or '", c);
	else
		config_report_add(l->report, l->line, "unexpected control character 0x%02x", c);
	return false;
}

struct config_token config_lex_next(struct config_lexer *l)
{
	struct config_token token = {.kind = CONFIG_TOKEN_ERROR};
	bool good = skip_space(l);
	int c = peek(l, 0);

	token.line = l->line;
	token.begin = l->length;
	if (!good)
		return token;
	enum config_token_kind kind = c == -1		      ? CONFIG_TOKEN_END
				      : c == '{'	      ? CONFIG_TOKEN_OPEN
				      : c == '}'	      ? CONFIG_TOKEN_CLOSE
				      : c == '='	      ? CONFIG_TOKEN_EQUALS
				      : c == ','	      ? CONFIG_TOKEN_COMMA
				      : c == '+'	      ? CONFIG_TOKEN_APPEND
				      : c == '"' || c == '\'' ? CONFIG_TOKEN_STRING
							      : CONFIG_TOKEN_WORD;
	switch (kind) {
	case CONFIG_TOKEN_END:
		break;
	case CONFIG_TOKEN_STRING:
		good = lex_string(l);
		break;
	case CONFIG_TOKEN_WORD:
		good = word_byte(c) ? lex_word(l) : lex_stray(l);
		break;
	case CONFIG_TOKEN_APPEND:
		good = peek(l, 1) == '=' || lex_stray(l);
		if (good)
			copy(l);
		/* fall through */
	default:
		if (good)
			copy(l);
	}
	token.end = l->length;
	if (good)
		token.kind = kind;
	return token;
}

const char *config_token_text(const struct config_lexer *l, const struct config_token *token, char *buf,
			      size_t size)
{
	int length = (int)(token->end - token->begin);

	if (token->kind == CONFIG_TOKEN_END)
		snprintf(buf, size, "the end of the file");
	else if (token->kind == CONFIG_TOKEN_STRING)
		snprintf(buf, size, "%.*s", length > 60 ? 60 : length, l->out + token->begin);
	else
		snprintf(buf, size, "\"%.*s\"", length > 60 ? 60 : length, l->out + token->begin);
	return buf;
}
